"""Small stand-ins that implement the ports, for every test to use."""

import asyncio
import heapq
from itertools import count
from typing import Final

PATIENCE: Final = 60.0  # seconds after which a wait has failed; only a test that fails waits so long


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
