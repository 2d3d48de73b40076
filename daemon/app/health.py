"""Whether this daemon itself works: its event loop runs on time and its memory.db answers. Slack is not asked."""

from collections import deque

from daemon.core.ports.clock import Clock

_TICK = 1.0
_KEPT = 60  # measurements
_STORE_SILENT = 75.0  # seconds; a heartbeat comes every ten, or within a minute after it failed
_TICKS_WATCHED = 5
_LOOP_STUCK = 10.0  # seconds of lag; acknowledgements are due after three


class Health:
    """Measures the lag of the event loop, and notes when memory.db answered last."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answered_at = clock.monotonic()
        self._lags: deque[float] = deque(maxlen=_KEPT)

    async def measure(self) -> None:
        """Measure until cancelled: how much later than due a sleeping task is woken."""
        while True:
            due = self._clock.monotonic() + _TICK
            await self._clock.sleep(_TICK)
            self._lags.append(max(0.0, self._clock.monotonic() - due))

    def worst_lag(self, ticks: int = _KEPT) -> float:
        """The longest lag, in seconds, among the last measurements, one a second."""
        return max(list(self._lags)[-ticks:], default=0.0)

    def store_answered(self) -> None:
        """A write to memory.db was done or refused."""
        self._answered_at = self._clock.monotonic()

    def works(self) -> bool:
        """Whether the watchdog may be fed: a restart would mend nothing."""
        silent = self._clock.monotonic() - self._answered_at
        return silent < _STORE_SILENT and self.worst_lag(_TICKS_WATCHED) < _LOOP_STUCK
