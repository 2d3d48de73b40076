"""A cache with an expiry time in front of Slack look-ups."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from daemon.core.ports import Clock

T = TypeVar("T")


class TimedCache(Generic[T]):
    """Keeps up to `size` answers for `ttl` seconds each; the least recently used go first, failures aren't kept.

    Concurrent calls for one key share one look-up.
    """

    def __init__(
        self, fetch: Callable[[str], Awaitable[T]], clock: Clock, *, ttl: float = 600.0, size: int = 5000
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._ttl = ttl
        self._size = size
        self._answers: OrderedDict[str, tuple[float, T]] = OrderedDict()
        self._locks: dict[str, asyncio.Lock] = {}

    async def get(self, key: str) -> T:
        """The answer for a key, fetched if it is missing or expired. Raises what `fetch` raises."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                entry = self._answers.get(key)
                if entry is None or self._clock.monotonic() - entry[0] >= self._ttl:
                    entry = (self._clock.monotonic(), await self._fetch(key))
                self._store(key, entry)
                return entry[1]
        finally:
            if not lock.locked():
                self._locks.pop(key, None)

    def _store(self, key: str, entry: tuple[float, T]) -> None:
        self._answers[key] = entry
        self._answers.move_to_end(key)
        while len(self._answers) > self._size:
            self._answers.popitem(last=False)
