"""Full cycles a second: every user posts again as soon as the reply stands."""

import asyncio

from bench.plan import Bench
from bench.report import Row
from bench.stage import Bot, Stage, stage

_CROWD = 16


async def measure(bench: Bench) -> list[Row]:
    """Replies a second over some seconds; each of ours is read, thought, stored and marked as sent on disk."""
    seconds = bench.size(10, 3)
    rates: dict[Bot, float] = {}
    for bot in Bot:
        async with stage(bot) as set_up:
            crowd = [(await set_up.people.add_person(f"Person{number}"))["id"] for number in range(_CROWD)]
            await set_up.start()
            await set_up.quiet()
            ends = set_up.clock.monotonic() + seconds
            async with asyncio.TaskGroup() as group:
                talks = [group.create_task(_talk(set_up, person, ends)) for person in crowd]
            rates[bot] = sum(talk.result() for talk in talks) / seconds
    return [Row(f"full durable cycles, {_CROWD} people at a time", "1/s", rates[Bot.OURS], rates[Bot.ECHO])]


async def _talk(set_up: Stage, person: str, ends: float) -> int:
    """Post and wait for the reply until the time is up; gives how often."""
    rounds = 0
    while set_up.clock.monotonic() < ends:
        await set_up.reply_to(await set_up.say(person, "dm", set_up.marked()))
        rounds += 1
    return rounds
