"""The system's clock: a pause of the process itself is no time that passed."""

import asyncio
import time
from types import SimpleNamespace

import pytest

from daemon.core.clock import SystemClock
from daemon.core.concurrency import time_limit


@pytest.fixture
def moment(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1_000.0]
    monkeypatch.setattr("daemon.core.clock.time", SimpleNamespace(monotonic=lambda: now[0], time_ns=time.time_ns))
    return now


async def test_a_stopped_process_spends_no_time_and_a_busy_one_does(moment: list[float]) -> None:
    clock = SystemClock()
    sleeping = asyncio.create_task(clock.sleep(30))
    await asyncio.sleep(0)
    began = clock.monotonic()
    moment[0] += 9
    assert clock.monotonic() - began == 9, "the loop was busy"
    moment[0] += 3_600
    assert clock.monotonic() - began == 14, "a look was due after five seconds"
    sleeping.cancel()
    moment[0] += 3_600
    await asyncio.wait((sleeping,))
    before = clock.monotonic()
    moment[0] += 3_600
    assert clock.monotonic() - before == 3_600, "nothing slept, so nothing is known of a pause"


async def test_a_time_limit_survives_a_pause_of_the_process(moment: list[float]) -> None:
    clock, answered = SystemClock(), asyncio.Event()

    async def answer() -> str:
        async with time_limit(clock, 45):
            await answered.wait()
            return "there"

    answering = asyncio.create_task(answer())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    moment[0] += 80
    clock.monotonic()
    answered.set()
    assert await answering == "there"
