"""News of memory.db's changes: waiters wake at once for this process's own, and within LOOK_S for another's.

After each news one read serves all watchers of this process, for all keys.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Final, Generic, TypeVar

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


T = TypeVar("T")

Look = Callable[[Sequence[str]], Awaitable[Mapping[str, T]]]
"""The function that reads the values of some keys in one read. May raise StoreError."""


class Looks(Generic[T]):
    """The shared looks: one of the watchers waits for news, and reads for all."""

    def __init__(self, news: StoreNews, look: Look[T]) -> None:
        self._news = news
        self._look = look
        self._watched = Counter[str]()
        self._found: Mapping[str, T] = {}
        self._number = 0  # of the looks so far
        self._heard = 0  # the count of news before the newest look began
        self._leads = False
        self._turned = asyncio.Event()

    @contextmanager
    def watch(self, key: str) -> Iterator["Watched[T]"]:
        """Watch a key until the block ends."""
        self._watched[key] += 1
        try:
            yield Watched(self, key)
        finally:
            self._watched[key] -= 1
            self._watched += Counter()  # drops keys without watchers

    async def begin(self, key: str) -> tuple[int, T]:
        """Return the number of the last look and the current value of a key. Raises StoreError."""
        number = self._number
        return number, (await self._look((key,)))[key]

    async def after(self, number: int, key: str) -> tuple[int, T]:
        """Return the number and the value of a key from the first look after that number.

        Raises StoreError if this watcher looks and fails; the others continue to wait.
        """
        while self._number <= number or key not in self._found:
            if self._leads:
                await self._turned.wait()
            else:
                await self._lead()
        return self._number, self._found[key]

    async def _lead(self) -> None:
        """Wait for news and look for all. News during a look is not lost: the next look follows at once."""
        self._leads = True
        try:
            await self._news.heard(self._heard)
            self._heard = self._news.count
            self._found = await self._look(tuple(self._watched))
            self._number += 1
        finally:
            self._leads = False
            turned, self._turned = self._turned, asyncio.Event()
            turned.set()


class Watched(Generic[T]):
    def __init__(self, looks: Looks[T], key: str) -> None:
        self._looks = looks
        self._key = key
        self._number: int | None = None

    async def next(self) -> T:
        """Return the value of the key: now at first, then after the next news or within POLL_S. Raises StoreError."""
        if self._number is None:
            self._number, found = await self._looks.begin(self._key)
        else:
            self._number, found = await self._looks.after(self._number, self._key)
        return found
