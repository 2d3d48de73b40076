"""Time: what the daemon needs of a clock."""

from typing import Protocol


class Clock(Protocol):
    """Wall time, monotonic time and the only sleep."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Wait; zero or less lets other tasks run once."""
