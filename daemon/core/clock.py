"""The system's clock. All code that waits or reads the time uses a Clock, so that tests never sleep."""

import asyncio
import time
from typing import Final

_STEP: Final = 5.0  # seconds between two looks at the time while something sleeps
_LATE: Final = 5.0  # seconds by which a busy process may be late for such a look


class SystemClock:
    """Wall time for records, monotonic time for durations, and the daemon's only sleep.

    While the process itself was stopped (a machine that pauses or sleeps, SIGSTOP), no monotonic time passed: such a
    pause ends no time limit, so that nobody is blamed for it (DESIGN 7, ruling 26).
    """

    def __init__(self) -> None:
        self._asleep = 0  # how many sleep now; while any does, the time is looked at every few seconds
        self._looked = self._stopped = 0.0

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back, and rests while the process is stopped."""
        now = time.monotonic()
        if self._asleep and now - self._looked > _STEP + _LATE:
            self._stopped += now - self._looked - _STEP
        self._looked = now
        return now - self._stopped

    async def sleep(self, seconds: float) -> None:
        """Wait; zero or less lets other tasks run once."""
        until, left = self.monotonic() + seconds, max(0.0, seconds)
        self._asleep += 1
        try:
            while True:
                await asyncio.sleep(min(_STEP, left))
                left = until - self.monotonic()
                if left <= 0:
                    return
        finally:
            self._asleep -= 1
