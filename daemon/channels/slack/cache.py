"""A cache with an expiry time in front of Slack look-ups."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from daemon.core.lru import Lru
from daemon.core.ports.clock import Clock

T = TypeVar("T")
U = TypeVar("U")


class TimedCache(Generic[T]):
    """Keeps up to `size` answers for `ttl` seconds each; the least recently used go first, failures aren't kept.

    Concurrent calls for one key share one look-up. An answer that is forgotten while it is fetched is fetched again.
    """

    def __init__(
        self, fetch: Callable[[str], Awaitable[T]], clock: Clock, *, ttl: float = 600.0, size: int = 5000
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._ttl = ttl
        self._answers = Lru[str, tuple[float, T]](size)
        self._locks: dict[str, asyncio.Lock] = {}
        self._outdated: set[str] = set()

    async def get(self, key: str) -> T:
        """The answer for a key, fetched if it is missing or expired. Raises what `fetch` raises."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                entry = self._known(key)
                while entry is None:
                    self._outdated.discard(key)
                    at, answer = self._clock.monotonic(), await self._fetch(key)
                    entry = None if key in self._outdated else (at, answer)
                self._answers[key] = entry
                return entry[1]
        finally:
            if not lock.locked():
                self._locks.pop(key, None)
                self._outdated.discard(key)

    def peek(self, key: str, otherwise: U) -> T | U:
        """The answer for a key if it is known and has not expired, else `otherwise`; nothing is fetched."""
        entry = self._known(key)
        return otherwise if entry is None else entry[1]

    def put(self, key: str, answer: T) -> None:
        """Keep an answer that came by another way."""
        self._answers[key] = (self._clock.monotonic(), answer)

    def forget(self, key: str) -> None:
        """Drop what is known for a key; an answer that is being fetched for it now is fetched again."""
        self._answers.pop(key, None)
        if key in self._locks:
            self._outdated.add(key)

    def forget_all(self) -> None:
        """Drop everything."""
        for key in {*self._answers, *self._locks}:
            self.forget(key)

    def _known(self, key: str) -> tuple[float, T] | None:
        entry = self._answers.get(key)
        return entry if entry is not None and self._clock.monotonic() - entry[0] < self._ttl else None
