"""Limits the rate of calls: Slack's Retry-After for each method and channel, and fixed windows for tiered methods."""

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from daemon.core.ports import Clock

_PACED_FOR: Final = 60.0  # seconds of one call a second after a 429
_SPACING: Final = 1.0
_QUEUE: Final = 2.0  # the longest wait for a slot in seconds; a later call fails with the time to wait
_MOST_LIMITS: Final = 1000
_MINUTE: Final = 60.0

# Slack's tiers of the streaming methods in calls a minute; all conversations share them.
STREAM_TIERS: Final[Mapping[str, int]] = {"chat.startStream": 20, "chat.appendStream": 100}


@dataclass(slots=True)
class _Limit:
    """The rate limit of one method in one channel, in monotonic seconds."""

    held_until: float = 0.0
    paced_until: float = 0.0
    next_slot: float = 0.0


class Pacing:
    """Delays calls only after a 429: first for its Retry-After, then to one call a second for a minute."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._limits: OrderedDict[tuple[str, str], _Limit] = OrderedDict()

    def pause_needed(self, method: str, channel: str) -> float:
        """Seconds before this method may be called again in this channel; 0.0 if a slot is free or near."""
        limit = self._limits.get((method, channel))
        if limit is None:
            return 0.0
        now = self._clock.monotonic()
        queue = limit.next_slot - now if now < limit.paced_until else 0.0
        return max(0.0, limit.held_until - now, queue if queue > _QUEUE else 0.0)

    def throttled(self, method: str, channel: str, retry_after: float) -> None:
        """Note a 429 with its Retry-After in seconds."""
        until = self._clock.monotonic() + retry_after
        self._limits[method, channel] = _Limit(held_until=until, paced_until=until + _PACED_FOR, next_slot=until)
        self._limits.move_to_end((method, channel))
        while len(self._limits) > _MOST_LIMITS:
            self._limits.popitem(last=False)

    async def wait_for_slot(self, method: str, channel: str) -> None:
        """Wait for the next slot if calls of this method in this channel are paced."""
        limit = self._limits.get((method, channel))
        if limit is None:
            return
        now = self._clock.monotonic()
        if now >= limit.paced_until:
            self._limits.pop((method, channel), None)
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
