"""Time for journeys: it runs with the machine, can be moved ahead, and can be made to stand still."""

import asyncio
import time

_LOCKED = 0.02  # seconds; so long, at most, the database waits before it tries again


class TurnableClock:
    """A `Clock` shared by the workspace and its daemons."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self._still: float | None = None
        self._turned = asyncio.Event()

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""
        return int((time.time() - time.monotonic() + self.monotonic()) * 1000)

    def monotonic(self) -> float:
        """Seconds from an arbitrary start."""
        return (time.monotonic() if self._still is None else self._still) + self._ahead

    async def sleep(self, seconds: float) -> None:
        """Wait until the time has come, by itself or by a turn of the clock.

        While time stands still only a turn ends a wait, except the moments in which a database waits for a lock.
        """
        if seconds <= 0 or (self._still is not None and seconds <= _LOCKED):
            await asyncio.sleep(max(0.0, seconds))
            return
        until = self.monotonic() + seconds
        while (left := until - self.monotonic()) > 0:
            try:
                async with asyncio.timeout(left if self._still is None else None):
                    await self._turned.wait()
            except TimeoutError:
                return

    def turn(self, seconds: float) -> None:
        """Move time ahead and wake all sleepers, who then see how late it is."""
        self._ahead += seconds
        self._wake()

    def stand_still(self) -> None:
        """From now on time moves by `turn` alone, so that no test depends on the speed of the machine."""
        self._still = time.monotonic()
        self._wake()

    def _wake(self) -> None:
        self._turned.set()
        self._turned = asyncio.Event()
