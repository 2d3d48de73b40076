"""Five hundred mentions in the same moment, each a conversation of its own; memory before and after."""

import asyncio

from bench.plan import Bench
from bench.report import Row
from bench.stage import PEOPLE, Bot, Json, Stage, stage, times_answered
from daemon.core.value import Value

_AT_ONCE = 32
_WITHIN = 90.0


class _Seen(Value):
    """Replies a second, messages without one, and MiB of memory at three times."""

    rate: float
    unanswered: int
    at_rest: float
    after: float
    restarted: float


async def measure(bench: Bench) -> list[Row]:
    """Replies a second from the first event to the last reply, and how many were never answered."""
    size = bench.size(500, 100)
    seen = {bot: await _burst(bot, size) for bot in Bot}
    ours, echo = seen[Bot.OURS], seen[Bot.ECHO]
    return [
        Row(f"{size} mentions at once", "replies/s", ours.rate, echo.rate, at_least=40),
        Row(f"{size} mentions at once, unanswered", "", ours.unanswered, echo.unanswered, at_most=0),
        Row("resident memory at rest, first start", "MiB", ours.at_rest, echo.at_rest, at_most=120),
        Row(f"resident memory after {size} mentions", "MiB", ours.after, echo.after, at_most=240),
        Row("resident memory at rest, restarted", "MiB", ours.restarted, echo.restarted, at_most=120),
    ]


async def _burst(bot: Bot, size: int) -> _Seen:
    async with stage(bot) as set_up:
        await set_up.start()
        await set_up.quiet()
        rest = set_up.memory
        messages = await speak_at_once(set_up, size)
        await set_up.answered(messages, _WITHIN)
        await set_up.quiet()
        counts = times_answered(messages, await set_up.replies(["general"]))
        began = min(float(message["ts"]) for message in messages)
        taken = max(set_up.answers.values(), default=began) - began
        answered = sum(count > 0 for count in counts)
        after = set_up.memory
        await set_up.stop()
        await set_up.start()
        await set_up.quiet()
        return _Seen(answered / taken if taken else 0.0, counts.count(0), rest, after, set_up.memory)


async def speak_at_once(set_up: Stage, size: int) -> list[Json]:
    """Many mentions as fast as the workspace takes them."""
    messages: list[Json] = []
    slots = asyncio.Semaphore(_AT_ONCE)

    async def speak(person: str) -> None:
        async with slots:
            messages.append(await set_up.say(person, "general", f"@soul {set_up.marked()}"))

    async with asyncio.TaskGroup() as group:
        for number in range(size):
            group.create_task(speak(PEOPLE[number % len(PEOPLE)]))
    return messages
