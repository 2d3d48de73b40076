"""The time to the acknowledgement of an event, while four processes write to memory.db and the model hangs."""

from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.model_server import model_server
from bench.plan import Bench
from bench.processes import end, spawn
from bench.report import Row, quantile
from bench.stage import PEOPLE, Bot, Stage, stage

_WRITERS = 4
EVERY = 0.05  # seconds between two messages
_SETTLE = 2.0


async def measure(bench: Bench) -> list[Row]:
    """Milliseconds from an event to its acknowledgement; the echo acknowledges without storing anything."""
    size = bench.size(200, 60)
    async with model_server() as model:
        model.hung = True
        async with stage(Bot.OURS, **model.settings) as set_up:
            await set_up.start()
            async with _writers(set_up.home):
                ours = await acknowledged(set_up, size)
    async with stage(Bot.ECHO) as set_up:
        await set_up.start()
        echo = await acknowledged(set_up, size)
    return [
        Row("acknowledgement, p50", "ms", quantile(ours, 0.5), quantile(echo, 0.5)),
        Row("acknowledgement, p99", "ms", quantile(ours, 0.99), quantile(echo, 0.99), at_most=500),
        Row("acknowledgement, slowest", "ms", max(ours), max(echo), note=f"{_WRITERS} writers, a hung model"),
    ]


async def acknowledged(set_up: Stage, size: int) -> list[float]:
    """Post messages at intervals; an event without an acknowledgement counts as infinite."""
    before = len(await set_up.people.deliveries())
    for number in range(size):
        await set_up.say(PEOPLE[number % len(PEOPLE)], "general", f"@soul {set_up.marked()}")
        await set_up.clock.sleep(EVERY)
    await set_up.clock.sleep(_SETTLE)
    found = (await set_up.people.deliveries())[before:]
    return [1000 * ((one["acked_at"] or float("inf")) - one["sent_at"]) for one in found if not one["attempt"]]


@asynccontextmanager
async def _writers(home: Path) -> AsyncIterator[None]:
    started: list[Process] = []
    try:
        while len(started) < _WRITERS:
            started.append(await spawn(home, "bench.writer", str(home / "memory.db"), f"writer{len(started)}"))
        yield
    finally:
        for process in started:
            await end(process, kill=True)
