"""The workspace's clock, which can be moved forward. A daemon that uses it lives a week in minutes."""

import asyncio
import itertools
from bisect import insort
from collections.abc import Callable

from daemon.core.ports.services import Clock

_Timer = tuple[float, int, Callable[[], None]]


class WorkspaceClock:
    """A `Clock` that never goes back, with timers. `run` calls each due timer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start = clock.now_ms() / 1000 - clock.monotonic()
        self._moved = 0.0
        self._timers: list[_Timer] = []  # the next one first
        self._numbers = itertools.count()
        self._changed = asyncio.Event()

    def now(self) -> float:
        """Return the workspace's time in seconds since the epoch."""
        return self._start + self._clock.monotonic() + self._moved

    def now_ms(self) -> int:
        """Return the workspace's time in ms since the epoch."""
        return int(self.now() * 1000)

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start, including those by which the clock was moved."""
        return self._clock.monotonic() + self._moved

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
        """Call `ring` after this many workspace seconds. It must not block or raise."""
        self._add(self.now() + seconds, ring)

    async def sleep(self, seconds: float) -> None:
        """Wait this many workspace seconds. Zero or less lets other tasks run once."""
        if seconds <= 0:
            await self._clock.sleep(0)
            return
        rung = asyncio.Event()
        timer = self._add(self.now() + seconds, rung.set)
        try:
            await rung.wait()
        finally:
            if not rung.is_set():
                self._timers.remove(timer)

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
            _, _, ring = self._timers.pop(0)
            ring()

    def _add(self, due: float, ring: Callable[[], None]) -> _Timer:
        timer = (due, next(self._numbers), ring)
        insort(self._timers, timer)
        if self._timers[0] is timer:
            self._changed.set()
        return timer
