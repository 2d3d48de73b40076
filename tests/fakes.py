"""Small stand-ins that implement the ports, for every test to use."""

import asyncio
import heapq
from collections.abc import Callable
from itertools import count

TIMEOUT = 20.0
"""Seconds after which a wait for an event fails."""


class FakeClock:
    """A clock that tests turn by hand, or that jumps ahead by itself whenever somebody sleeps (`auto`)."""

    def __init__(self, *, auto: bool = False, start_ms: int = 1_750_000_000_000) -> None:
        self.auto = auto
        self.slept: list[float] = []
        self._start_ms = start_ms
        self._elapsed = 0.0
        self._alarms: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()
        self._changed = asyncio.Event()

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""
        return self._start_ms + round(self._elapsed * 1000)

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was turned far enough; with `auto`, turn it and give other tasks a turn."""
        self.slept.append(seconds)
        if self.auto or seconds <= 0:
            self._elapsed += max(0.0, seconds)
            await asyncio.sleep(0)
            return
        alarm = asyncio.get_running_loop().create_future()
        heapq.heappush(self._alarms, (self._elapsed + seconds, next(self._order), alarm))
        self._changed.set()
        await alarm

    async def sleepers(self, number: int = 1) -> None:
        """Wait until at least so many tasks sleep on this clock."""
        while len(self._waiting()) < number:
            self._changed.clear()
            await self._changed.wait()

    async def advance(self, seconds: float) -> None:
        """Turn the clock, waking sleepers in the order of their alarms, and let each of them run."""
        target = self._elapsed + seconds
        while self._alarms and self._alarms[0][0] <= target:
            at, _, alarm = heapq.heappop(self._alarms)
            self._elapsed = max(self._elapsed, at)
            if not alarm.done():
                alarm.set_result(None)
                await asyncio.sleep(0)
        self._elapsed = target
        await asyncio.sleep(0)

    def _waiting(self) -> list[asyncio.Future[None]]:
        return [alarm for _, _, alarm in self._alarms if not alarm.done()]


class Events:
    """An `Emit` that records events, and lets a test wait for one."""

    def __init__(self) -> None:
        self.emitted: list[tuple[str, dict[str, object]]] = []
        self._changed = asyncio.Event()

    def __call__(self, event: str, /, **fields: object) -> None:
        """Record one event."""
        self.emitted.append((event, fields))
        self._changed.set()

    @property
    def names(self) -> list[str]:
        """The events' names, oldest first."""
        return [name for name, _ in self.emitted]

    def named(self, event: str) -> list[dict[str, object]]:
        """The fields of every event of this name, oldest first."""
        return [fields for name, fields in self.emitted if name == event]

    async def until(self, event: str, times: int = 1, **having: object) -> dict[str, object]:
        """Wait for the `times`-th event with this name and these fields; gives the fields of the newest one."""

        def found() -> list[dict[str, object]]:
            return [fields for fields in self.named(event) if having.items() <= fields.items()]

        await self.when(lambda: len(found()) >= times)
        return found()[-1]

    async def when(self, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds; it is checked after every event."""
        async with asyncio.timeout(TIMEOUT):
            while not holds():
                self._changed.clear()
                await self._changed.wait()
