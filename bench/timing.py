"""How long work takes, and how long it holds the event loop."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from daemon.core.ports.services import SystemClock

T = TypeVar("T")

_TICK_S: Final = 0.001


async def timed(work: Awaitable[T]) -> tuple[T, float]:
    """What some work gives, and the seconds that it took."""
    clock = SystemClock()
    began = clock.monotonic()
    value = await work
    return value, clock.monotonic() - began


@asynccontextmanager
async def loop_watched() -> AsyncIterator[list[float]]:
    """How long the event loop kept a task waiting beyond what it asked for, in ms.

    A wait counts no longer than this process worked meanwhile: the rest is other programs' on this machine.
    """
    clock, holds = SystemClock(), [0.0]

    async def tick() -> None:
        while True:
            began, worked = clock.monotonic(), time.process_time()
            await clock.sleep(_TICK_S)
            waited = clock.monotonic() - began - _TICK_S
            holds.append(1000 * min(waited, time.process_time() - worked))

    ticking = asyncio.get_running_loop().create_task(tick())
    try:
        yield holds
    finally:
        ticking.cancel()
