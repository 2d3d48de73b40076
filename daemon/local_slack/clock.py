"""The workspace's clock: it runs with the machine's, can be moved forward, and calls timers when they are due."""

import asyncio
import heapq
import itertools
from collections.abc import Callable

from daemon.core.ports import Clock


class WorkspaceClock:
    """Seconds since the epoch that never go back, and timers on them; `run` calls each timer when it is due."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start = clock.now_ms() / 1000 - clock.monotonic()
        self._moved = 0.0
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._changed = asyncio.Event()

    def now(self) -> float:
        """The workspace's time, in seconds since the epoch."""
        return self._start + self._clock.monotonic() + self._moved

    def advance(self, seconds: float) -> None:
        """Move time forward, calling each timer at its own time on the way. Raises ValueError for a step back."""
        if seconds < 0:
            raise ValueError("a workspace's time only moves forward")
        end = self.now() + seconds
        while self._timers and self._timers[0][0] <= end:
            self._moved += max(0.0, self._timers[0][0] - self.now())
            self._ring()
        self._moved += max(0.0, end - self.now())
        self._changed.set()

    def after(self, seconds: float, ring: Callable[[], None]) -> None:
        """Call `ring` after this many workspace seconds; it must not block or raise."""
        due = self.now() + seconds
        heapq.heappush(self._timers, (due, next(self._numbers), ring))
        if self._timers[0][0] == due:
            self._changed.set()

    async def wait(self, seconds: float) -> None:
        """Wait this many workspace seconds."""
        rung = asyncio.Event()
        self.after(seconds, rung.set)
        await rung.wait()

    async def run(self) -> None:
        """Call timers when they are due, until cancelled."""
        while True:
            self._changed.clear()
            self._ring()
            if not self._timers:
                await self._changed.wait()
                continue
            async with asyncio.TaskGroup() as tasks:
                alarm = tasks.create_task(self._alarm(self._timers[0][0] - self.now()))
                await self._changed.wait()
                alarm.cancel()

    async def _alarm(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        self._changed.set()

    def _ring(self) -> None:
        while self._timers and self._timers[0][0] <= self.now():
            _, _, ring = heapq.heappop(self._timers)
            ring()
