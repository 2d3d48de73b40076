"""Real time that a test can turn forward: whoever sleeps past the new hour wakes at once."""

import asyncio
import time


class TurnableClock:
    """A `Clock` that runs with the machine and can be moved ahead; shared by the workspace and its daemons."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self._turned = asyncio.Event()

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""
        return int((time.time() + self._ahead) * 1000)

    def monotonic(self) -> float:
        """Seconds from an arbitrary start."""
        return time.monotonic() + self._ahead

    async def sleep(self, seconds: float) -> None:
        """Wait until the time has come, by itself or by a turn of the clock."""
        until = self.monotonic() + seconds
        while (left := until - self.monotonic()) > 0:
            try:
                async with asyncio.timeout(left):
                    await self._turned.wait()
            except TimeoutError:
                return
        if seconds <= 0:
            await asyncio.sleep(0)

    def turn(self, seconds: float) -> None:
        """Move time ahead and wake all sleepers, who then see how late it is."""
        self._ahead += seconds
        self._turned.set()
        self._turned = asyncio.Event()
