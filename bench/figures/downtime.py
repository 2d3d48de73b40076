"""Messages posted while the bot is down for longer than Slack retries: are they answered after the restart?"""

from bench.plan import Bench
from bench.report import Row
from bench.stage import PEOPLE, Bot, Json, Stage, stage, times_answered

_SIZE = 10
_GIVEN_UP = 700.0  # seconds, in two steps: beyond all of Slack's retries
_WITHIN = 30.0


async def measure(_: Bench) -> list[Row]:
    """How many of them are answered; half are DMs and half mentions."""
    seen = {bot: await _while_down(bot) for bot in Bot}
    figure = f"{_SIZE} sent while down, retries used up, answered after the restart"
    return [Row(figure, "", seen[Bot.OURS], seen[Bot.ECHO], at_least=_SIZE, at_most=_SIZE)]


async def _while_down(bot: Bot) -> int:
    async with stage(bot) as set_up:
        await set_up.start()
        await set_up.reply_to(await set_up.say("ada", "dm", set_up.marked("before")))
        await set_up.quiet(1.5)
        await set_up.stop()
        said = [await _speak(set_up, number) for number in range(_SIZE)]
        for _ in range(2):
            await set_up.people.advance(_GIVEN_UP / 2)
        await set_up.start()
        await set_up.until(lambda: _all_answered(set_up, said), _WITHIN if bot is Bot.OURS else _WITHIN / 6)
        return _SIZE - (await _counts(set_up, said)).count(0)


async def _speak(set_up: Stage, number: int) -> Json:
    person = PEOPLE[number % len(PEOPLE)]
    room, words = ("general", "@soul ") if number % 2 else ("dm", "")
    return await set_up.say(person, room, words + set_up.marked())


async def _counts(set_up: Stage, said: list[Json]) -> list[int]:
    return times_answered(said, await set_up.replies(sorted({message["channel"] for message in said})))


async def _all_answered(set_up: Stage, said: list[Json]) -> bool:
    return 0 not in await _counts(set_up, said)
