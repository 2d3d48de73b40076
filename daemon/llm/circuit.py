"""A circuit breaker and a retry budget for each vendor (promises P31 and P32)."""

import math
from collections import deque
from dataclasses import dataclass
from enum import Enum, auto

from daemon.core.errors import ModelUnavailable

FAILURES_TO_OPEN = 5
TIMEOUTS_TO_OPEN = 3
REST_SECONDS = 30.0
LONGEST_REST_SECONDS = 300.0

RETRY_SHARE = 0.1
FEWEST_RETRIES = 3
WINDOW_SECONDS = 60.0


class CircuitState(Enum):
    """Closed passes calls on, open refuses them, half-open passes one probe on."""

    CLOSED = auto()
    OPEN = auto()
    HALF_OPEN = auto()


@dataclass(frozen=True, slots=True)
class Permit:
    """The right to make one call; `probe` marks the one call that tests whether the vendor is back."""

    probe: bool


class Circuit:
    """Opens after five failures or three timeouts in a row, and after a pause lets one probe through.

    Errors of a single request don't count: they show that the vendor works. Times are `Clock.monotonic` seconds.
    """

    def __init__(self, vendor: str) -> None:
        self._vendor = vendor
        self._failures = 0
        self._timeouts = 0
        self._open_until: float | None = None
        self._probing = False

    def state(self, now: float) -> CircuitState:
        """The state at a time."""
        if self._open_until is None:
            return CircuitState.CLOSED
        return CircuitState.OPEN if now < self._open_until else CircuitState.HALF_OPEN

    def admit(self, now: float) -> Permit:
        """Permit one call. Raises ModelUnavailable with the seconds left while the circuit is open."""
        if self._open_until is None:
            return Permit(probe=False)
        left = max(0.0, self._open_until - now)
        if left > 0 or self._probing:
            when = f"in {math.ceil(left)} s" if left > 0 else "right now"
            raise ModelUnavailable(
                f"{self._vendor} failed several times in a row and is tried again {when}",
                hint=f"look at {self._vendor}'s status page and at earlier log lines",
                retry_after=left,
            )
        self._probing = True
        return Permit(probe=True)

    def succeeded(self) -> bool:
        """Note an answer; True when that closed the circuit."""
        was_open = self._open_until is not None
        self._failures = self._timeouts = 0
        self._open_until = None
        self._probing = False
        return was_open

    def failed(self, permit: Permit, now: float, *, timed_out: bool = False, retry_after: float | None = None) -> bool:
        """Count a failure; True when it opened the circuit. `retry_after` prolongs the pause, up to five minutes."""
        if self._open_until is not None and not permit.probe:
            return False  # a call from before the circuit opened
        self._failures += 1
        self._timeouts = self._timeouts + 1 if timed_out else 0
        if not (permit.probe or self._failures >= FAILURES_TO_OPEN or self._timeouts >= TIMEOUTS_TO_OPEN):
            return False
        self._open_until = now + min(max(REST_SECONDS, retry_after or 0.0), LONGEST_REST_SECONDS)
        self._probing = False
        return True

    def abandoned(self, permit: Permit) -> None:
        """Note a call that ended without a result; after a probe the next call may probe."""
        if permit.probe:
            self._probing = False


class RetryBudget:
    """Allows retries up to a tenth of the vendor's calls in the last minute, and at least three."""

    def __init__(self) -> None:
        self._calls: deque[float] = deque()
        self._retries: deque[float] = deque()

    def call(self, now: float) -> None:
        """Count a first attempt."""
        self._calls.append(now)
        self._forget(now)

    def take(self, now: float) -> bool:
        """Take one retry; False when none is left."""
        self._forget(now)
        if len(self._retries) >= max(FEWEST_RETRIES, int(RETRY_SHARE * len(self._calls))):
            return False
        self._retries.append(now)
        return True

    def _forget(self, now: float) -> None:
        for times in (self._calls, self._retries):
            while times and times[0] <= now - WINDOW_SECONDS:
                times.popleft()
