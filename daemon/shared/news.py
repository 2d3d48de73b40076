"""Wakes who waits for a change of memory.db: at once by this process's own word, and within LOOK_S after another's."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from daemon.core.concurrency import alongside, set_within
from daemon.core.errors import StoreBusy
from daemon.core.ports.services import Clock
from daemon.memory.database import Database

LOOK_S: Final = 0.2
"""Seconds between two looks whether another process has written."""

POLL_S: Final = 2.0
"""Seconds after which one who waits looks without news, for what ends by time alone."""


class StoreNews:
    """What this process tells, and what `watch` notices of others."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._next = asyncio.Event()
        self._count = 0
        self._seen: int | None = None

    def tell(self) -> None:
        """Wake all of this process who wait for a change of what is shared."""
        waited_for, self._next = self._next, asyncio.Event()
        self._count += 1
        waited_for.set()

    @property
    def count(self) -> int:
        return self._count

    async def heard(self, since: int | None = None) -> None:
        """Wait for the next news, or for POLL_S seconds; not at all where there was more than `since`."""
        if since is None or self._count <= since:
            await set_within(self._next, self._clock, POLL_S)

    async def watch(self, look: Callable[[], Awaitable[None]] | None = None) -> None:
        """Tell of each write of another process, and have `look` look for what it left to do; runs until cancelled.

        Raises StoreError, and what `look` raises: when it watches again it tells of that write once more.
        """
        while True:
            await self._look(look)
            await self._clock.sleep(LOOK_S)

    async def _look(self, look: Callable[[], Awaitable[None]] | None) -> None:
        try:
            version = await self._database.version_of_others()
        except StoreBusy:  # another process commits now: its write is noticed by the next look
            return
        if version != self._seen:
            self.tell()
            if look is not None:
                await look()
            self._seen = version


@asynccontextmanager
async def open_news(database: Database, clock: Clock) -> AsyncIterator[StoreNews]:
    """The news of a program that is no daemon, watched until the block ends."""
    news = StoreNews(database, clock)
    async with alongside(news.watch()):
        yield news
