"""Slack delivers an event again: at once, five minutes later, and after a restart. No message may get two replies."""

from bench.plan import Bench
from bench.report import Row
from bench.stage import PEOPLE, Bot, Json, Stage, stage, times_answered

_LATER = 305.0  # seconds, beyond Slack's last retry
_WITHIN = 30.0


async def measure(bench: Bench) -> list[Row]:
    """How many messages got another reply each time."""
    size = bench.size(20, 10)
    seen = {bot: await _again(bot, size) for bot in Bot}
    whens = ("at once", "after 305 s", "after a restart")
    return [
        Row(f"same event again {when}, answered twice of {size}", "", ours, echo, at_most=0)
        for when, ours, echo in zip(whens, seen[Bot.OURS], seen[Bot.ECHO], strict=True)
    ]


async def _again(bot: Bot, size: int) -> list[int]:
    async with stage(bot) as set_up:
        await set_up.start()
        messages = [await set_up.say(PEOPLE[n % len(PEOPLE)], "dm", set_up.marked()) for n in range(size)]
        counts = await _settled(set_up, messages)
        events = list(dict.fromkeys(one["event_id"] for one in await set_up.people.deliveries() if one["event_id"]))
        doubled = []
        for moment in range(3):
            if moment == 1:
                await set_up.people.advance(_LATER)
            if moment == 2:  # noqa: PLR2004  # the third time
                await set_up.stop()
                await set_up.start()
            for event in events:
                await set_up.people.repeat(event)
            before, counts = counts, await _settled(set_up, messages)
            doubled.append(sum(now > then for then, now in zip(before, counts, strict=True)))
        return doubled


async def _settled(set_up: Stage, messages: list[Json]) -> list[int]:
    """The number of replies to each message, once a later message is answered too and no call follows."""
    await set_up.reply_to(await set_up.say("ada", "dm", set_up.marked("the last word")), _WITHIN)
    await set_up.quiet()
    return times_answered(messages, await set_up.replies(sorted({message["channel"] for message in messages})))
