"""The system's clock; everything that waits or tells the time asks a Clock, so that tests never sleep."""

import asyncio
import time


class SystemClock:
    """Wall time for records, monotonic time for durations, and the only sleep in the house."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait; zero or less gives other tasks a turn."""
        await asyncio.sleep(max(0.0, seconds))
