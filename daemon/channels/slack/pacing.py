"""Obeys Slack's Retry-After: after a 429 a method rests for it, and its calls are spaced for a minute.

Slack counts most methods for the app and workspace as a whole; posts it counts for each channel.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Final

from daemon.core.ports.clock import Clock

_PACED_FOR: Final = 60.0  # seconds of evenly spaced calls after a 429
_SPACING: Final = 1.0
_QUEUE: Final = 2.0  # the longest wait for a slot in seconds; a later call fails with the time to wait
_MOST_LIMITS: Final = 1000
_MINUTE: Final = 60.0

_POSTING: Final = frozenset({"chat.postMessage"})
"""Methods that Slack counts for each channel."""


@dataclass(slots=True)
class _Limit:
    """The rate limit of one method, for one channel where Slack counts so, in monotonic seconds."""

    held_until: float
    paced_until: float
    next_slot: float


class Pacing:
    """Delays calls after a 429, until its Retry-After is over and then to one a second for a minute."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._limits: OrderedDict[tuple[str, str], _Limit] = OrderedDict()

    def pause_needed(self, method: str, channel: str) -> float:
        """Seconds before this method may be called again in this channel; 0.0 if a slot is free or near."""
        now, limit = self._clock.monotonic(), self._limits.get(_key(method, channel))
        if limit is None:
            return 0.0
        queue = limit.next_slot - now if now < limit.paced_until else 0.0
        return max(0.0, limit.held_until - now, queue if queue > _QUEUE else 0.0)

    def throttled(self, method: str, channel: str, retry_after: float) -> None:
        """Note a 429 with its Retry-After in seconds."""
        key, until = _key(method, channel), self._clock.monotonic() + retry_after
        self._limits[key] = _Limit(held_until=until, paced_until=until + _PACED_FOR, next_slot=until)
        self._limits.move_to_end(key)
        while len(self._limits) > _MOST_LIMITS:
            self._limits.popitem(last=False)

    async def wait_for_slot(self, method: str, channel: str) -> None:
        """Wait for the next slot and take it."""
        limit = self._limits.get(_key(method, channel))
        if limit is None:
            return
        now = self._clock.monotonic()
        if now >= limit.paced_until:
            self._limits.pop(_key(method, channel), None)
            return
        slot = max(now, limit.next_slot)
        limit.next_slot = slot + _SPACING
        if slot > now:
            await self._clock.sleep(slot - now)


class Window:
    """Allows at most `per_minute` calls in any minute."""

    def __init__(self, clock: Clock, per_minute: int) -> None:
        self._clock = clock
        self._per_minute = per_minute
        self._taken: deque[float] = deque()

    def take(self) -> bool:
        """Take a slot and return True, or return False if none is free."""
        if self.wait_needed() > 0:
            return False
        self._taken.append(self._clock.monotonic())
        return True

    def note(self) -> None:
        """Count a call that was made without waiting for a slot."""
        self._taken.append(self._clock.monotonic())

    def wait_needed(self) -> float:
        """Seconds until a slot is free; 0.0 if one is free now."""
        now = self._clock.monotonic()
        while self._taken and now - self._taken[0] >= _MINUTE:
            self._taken.popleft()
        beyond = len(self._taken) - self._per_minute
        return 0.0 if beyond < 0 else self._taken[beyond] + _MINUTE - now

    async def wait_for_slot(self) -> None:
        """Wait for a slot and take it."""
        while not self.take():
            await self._clock.sleep(self.wait_needed())


def _key(method: str, channel: str) -> tuple[str, str]:
    """What Slack counts together: a method in the whole workspace, posts in one channel."""
    return method, channel if method in _POSTING else ""
