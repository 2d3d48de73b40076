"""Answers of Slack's remembered for a while: least recently used go first, and one question is asked once at a time."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from daemon.core.ports import Clock

T = TypeVar("T")


class Remembered(Generic[T]):
    """A cache in front of an async question; an answer lives `ttl` seconds, failures aren't kept."""

    def __init__(
        self, ask: Callable[[str], Awaitable[T]], clock: Clock, *, ttl: float = 600.0, size: int = 5000
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._ttl = ttl
        self._size = size
        self._answers: OrderedDict[str, tuple[float, T]] = OrderedDict()
        self._asking: dict[str, asyncio.Lock] = {}

    async def get(self, key: str) -> T:
        """The answer for a key, asked for when unknown or too old. Raises whatever the question raises."""
        lock = self._asking.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                known = self._answers.get(key)
                if known is None or self._clock.monotonic() - known[0] >= self._ttl:
                    known = (self._clock.monotonic(), await self._ask(key))
                self._keep(key, known)
                return known[1]
        finally:
            if not lock.locked():
                self._asking.pop(key, None)

    def _keep(self, key: str, answer: tuple[float, T]) -> None:
        self._answers[key] = answer
        self._answers.move_to_end(key)
        while len(self._answers) > self._size:
            self._answers.popitem(last=False)
