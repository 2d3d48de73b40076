"""Mentions at once in many channels: how fast they are answered, and how long the slowest one waits."""

import asyncio
from collections.abc import Mapping, Sequence

from bench.model_server import model_server
from bench.plan import Bench
from bench.report import Row, quantile
from bench.stage import PEOPLE, Bot, Json, Stage, stage
from bench.thinker import tagged
from daemon.core.value import Value

_AT_ONCE = 32
_WITHIN = 120.0
_THINKS = 0.2  # seconds


class _Seen(Value):
    """Replies a second, messages without one, and the seconds until half and until all were there."""

    rate: float
    unanswered: int
    median: float
    slowest: float


async def measure(bench: Bench) -> list[Row]:
    """Five hundred in fifty channels and a model that answers at once; two in each of eighty and one that takes 0.2 s.

    The workspace keeps Slack's limits.
    """
    many, rooms = bench.size(500, 100), bench.size(50, 20)
    few, wide = bench.size(160, 80), bench.size(80, 60)
    quick = await _burst(many, rooms, {})
    async with model_server() as model:
        model.pieces, model.pause = [tagged("Well, that depends.")], _THINKS
        slow = await _burst(few, wide, model.settings)
    return [
        Row(f"{many} mentions at once in {rooms} channels", "replies/s", quick.rate, at_least=28),
        Row(f"{many} mentions at once in {rooms} channels, unanswered", "", quick.unanswered, at_most=0),
        Row(f"{few} mentions in {wide} channels, a model of {_THINKS} s, median", "s", slow.median),
        Row(f"{few} mentions in {wide} channels, a model of {_THINKS} s, slowest", "s", slow.slowest, at_most=15),
        Row(f"{few} mentions in {wide} channels, unanswered", "", slow.unanswered, at_most=0),
    ]


async def _burst(size: int, rooms: int, settings: Mapping[str, str]) -> _Seen:
    async with stage(Bot.OURS, **settings) as set_up:
        names = [f"room-{number}" for number in range(rooms)]
        for name in names:
            await set_up.people.add_channel(name, members=PEOPLE)
        await set_up.people.limits("slack")
        await set_up.start()
        await set_up.quiet()
        messages = await _speak_at_once(set_up, names, size)
        await set_up.answered(messages, _WITHIN)
        began = min(float(message["ts"]) for message in messages)
        ends = [set_up.answers[one["ts"]] for one in messages if one["ts"] in set_up.answers]
        waited = [set_up.answers.get(one["ts"], began + _WITHIN) - float(one["ts"]) for one in messages]
        taken = max(ends, default=began) - began
        return _Seen(
            len(ends) / taken if taken else 0.0, size - len(ends), quantile(waited, 0.5), quantile(waited, 1.0)
        )


async def _speak_at_once(set_up: Stage, rooms: Sequence[str], size: int) -> list[Json]:
    messages: list[Json] = []
    slots = asyncio.Semaphore(_AT_ONCE)

    async def speak(number: int) -> None:
        async with slots:
            person, room = PEOPLE[number % len(PEOPLE)], rooms[number % len(rooms)]
            messages.append(await set_up.say(person, room, f"@soul {set_up.marked()}"))

    async with asyncio.TaskGroup() as group:
        for number in range(size):
            group.create_task(speak(number))
    return messages
