"""No failing part of the supervisor ends the others: a socket, a catch-up pass."""

import asyncio
from typing import cast

import pytest

from daemon.channels.slack.connection import Connection, Supervisor
from daemon.core.concurrency import alongside
from daemon.core.errors import ConfigError
from tests.fakes import TIMEOUT, Events, FakeClock

ERRORS = [RecursionError("too deep"), KeyError("ts"), MemoryError(), PermissionError(13, "Permission denied")]


class Shaky:
    """A connection and a catch-up that fail three times each, and then work."""

    def __init__(self, error: Exception) -> None:
        self.alive = True
        self.error = error
        self.kept = self.caught_up = 0
        self.done = asyncio.Event()

    async def keep_open(self, _: object) -> None:
        self.kept += 1
        if self.kept <= 3:
            raise self.error
        await asyncio.Event().wait()

    async def catch_up(self) -> None:
        self.caught_up += 1
        if self.caught_up <= 3:
            raise self.error
        self.done.set()
        await asyncio.Event().wait()


async def test_each_part_is_begun_again_and_a_failed_catch_up_is_repeated() -> None:
    for error in ERRORS:
        shaky, clock, events, gap = Shaky(error), FakeClock(), Events(), asyncio.Event()
        supervisor = Supervisor((cast("Connection", shaky),), shaky.catch_up, clock, events, gap)
        async with asyncio.timeout(TIMEOUT), alongside(supervisor.run(asyncio.Event())):
            while not shaky.done.is_set():
                await clock.advance(1.0)
        assert gap.is_set(), error  # the pass that failed is asked for again
        failed = [str(event["loop"]) for event in events.named("loop.failed")]
        assert {loop: failed.count(loop) for loop in failed} == {"socket": 3, "catch-up": 3}, error


async def test_a_wrong_setting_ends_it() -> None:
    shaky, gap = Shaky(ConfigError("no token")), asyncio.Event()
    clock = FakeClock(auto=True)
    supervisor = Supervisor((cast("Connection", shaky),), shaky.catch_up, clock, Events(), gap)
    with pytest.raises(ExceptionGroup) as raised:
        await supervisor.run(asyncio.Event())
    assert raised.group_contains(ConfigError)
