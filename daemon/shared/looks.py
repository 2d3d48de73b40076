"""Shared looks: after each news one read serves all watchers of this process, for all keys."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

from daemon.shared.news import StoreNews

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
