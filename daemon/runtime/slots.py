"""How many conversations a soul works on at once: many, since they mostly wait for the model; fewer when it struggles.

A model that is overloaded, rate limited or too slow halves the number, at most once in ten seconds; each reply that
succeeds gives a part of a slot back, so that the old number is reached again after a few rounds. A quarter of the slots
is kept for DMs, so that a flood in channels leaves them room.
"""

import asyncio

from daemon.core.ports.clock import Clock

_FEWEST = 2
_HALVED_AT_MOST_EVERY = 10.0  # seconds; a burst of failures is one sign, not many


class Slots:
    """At most `most` at once; behaves as a semaphore."""

    def __init__(self, most: int, clock: Clock) -> None:
        self._most = most
        self._fewest = min(_FEWEST, most)
        self._limit = float(most)
        self._clock = clock
        self._halved_at = -_HALVED_AT_MOST_EVERY
        self._taken = 0
        self._freed = asyncio.Event()

    @property
    def limit(self) -> int:
        """How many may be taken at once now."""
        return int(self._limit)

    def only_for_dms(self, *, holding: int = 0) -> bool:
        """Whether no slot is left but those kept for DMs, for a caller that holds so many of the taken ones."""
        kept = self.limit // 4
        return kept > 0 and self._taken - holding >= self.limit - kept

    async def acquire(self) -> None:
        """Take a slot; waits for a free one."""
        while self._taken >= self.limit:
            self._freed.clear()
            await self._freed.wait()
        self._taken += 1

    def release(self) -> None:
        """Give a slot back."""
        self._taken -= 1
        self._freed.set()

    def went_well(self) -> None:
        """A reply was made."""
        self._limit = min(float(self._most), self._limit + 2 / self._limit)
        self._freed.set()

    def struggled(self) -> None:
        """The model was overloaded, unreachable or too slow."""
        now = self._clock.monotonic()
        if now - self._halved_at >= _HALVED_AT_MOST_EVERY:
            self._halved_at = now
            self._limit = max(float(self._fewest), self._limit / 2)
