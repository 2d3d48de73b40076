"""The system's clock. All code that waits or reads the time uses a Clock, so that tests never sleep."""

import asyncio
import time


class SystemClock:
    """Wall time for records, monotonic time for durations, and the daemon's only sleep."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait; zero or less lets other tasks run once."""
        await asyncio.sleep(max(0.0, seconds))
