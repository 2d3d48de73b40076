"""News of memory.db's changes: waiters wake at once for this process's own, and within LOOK_S for another's."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from daemon.core.concurrency import alongside, set_within
from daemon.core.errors import StoreBusy
from daemon.core.ports.services import Clock
from daemon.memory.database import Database

LOOK_S: Final = 0.2
"""Seconds between two checks for writes of another process."""

POLL_S: Final = 2.0
"""Seconds after which a waiter looks without news, for changes made by time alone."""


class StoreNews:
    """The news of this process, and of other processes through `watch`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._next = asyncio.Event()
        self._count = 0
        self._seen: int | None = None

    def tell(self) -> None:
        """Wake all waiters of this process: something shared has changed."""
        waited_for, self._next = self._next, asyncio.Event()
        self._count += 1
        waited_for.set()

    @property
    def count(self) -> int:
        return self._count

    async def heard(self, since: int | None = None) -> None:
        """Wait for the next news, or for POLL_S seconds. Return at once if the count exceeds `since`."""
        if since is None or self._count <= since:
            await set_within(self._next, self._clock, POLL_S)

    async def watch(self, look: Callable[[], Awaitable[None]] | None = None) -> None:
        """Announce each write of another process, and call `look` for work that it left; runs until cancelled.

        Raises StoreError, and what `look` raises: when it watches again it announces that write once more.
        """
        while True:
            await self._look(look)
            await self._clock.sleep(LOOK_S)

    async def _look(self, look: Callable[[], Awaitable[None]] | None) -> None:
        try:
            version = await self._database.version_of_others()
        except StoreBusy:  # another process commits now: the next look notices its write
            return
        if version != self._seen:
            self.tell()
            if look is not None:
                await look()
            self._seen = version


@asynccontextmanager
async def open_news(database: Database, clock: Clock) -> AsyncIterator[StoreNews]:
    """Watch the news in a program that is no daemon, until the block ends."""
    news = StoreNews(database, clock)
    async with alongside(news.watch()):
        yield news
