"""One look for all who watch: after each news one read serves all watchers of this process, of all keys."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

from daemon.shared.news import StoreNews

T = TypeVar("T")

Look = Callable[[Sequence[str]], Awaitable[Mapping[str, T]]]
"""Reads what stands under some keys, by one read. May raise StoreError."""


class Looks(Generic[T]):
    """Shares the looks at what is watched: one of the watchers waits for news, and reads for all."""

    def __init__(self, news: StoreNews, look: Look[T]) -> None:
        self._news = news
        self._look = look
        self._watched = Counter[str]()
        self._found: Mapping[str, T] = {}
        self._number = 0  # of the looks so far
        self._heard = 0  # how much news there was before the newest look began
        self._leads = False
        self._turned = asyncio.Event()

    @contextmanager
    def watch(self, key: str) -> Iterator["Watched[T]"]:
        """Watched a key until the block ends."""
        self._watched[key] += 1
        try:
            yield Watched(self, key)
        finally:
            self._watched[key] -= 1
            self._watched += Counter()  # without those that are watched no more

    async def begin(self, key: str) -> tuple[int, T]:
        """What stands under a key now, and the number of the newest look before. Raises StoreError."""
        number = self._number
        return number, (await self._look((key,)))[key]

    async def after(self, number: int, key: str) -> tuple[int, T]:
        """What the next look after that number finds under a key, and its number.

        Raises StoreError where it is this watcher that looks and can't; the others wait on.
        """
        while self._number <= number or key not in self._found:
            if self._leads:
                await self._turned.wait()
            else:
                await self._lead()
        return self._number, self._found[key]

    async def _lead(self) -> None:
        """Wait for news and look for all. What comes during a look is not lost: the next look follows at once."""
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
    """One watcher of one key."""

    def __init__(self, looks: Looks[T], key: str) -> None:
        self._looks = looks
        self._key = key
        self._number: int | None = None

    async def next(self) -> T:
        """What stands there now; from the second time on, after the next news or within POLL_S. Raises StoreError."""
        if self._number is None:
            self._number, found = await self._looks.begin(self._key)
        else:
            self._number, found = await self._looks.after(self._number, self._key)
        return found
