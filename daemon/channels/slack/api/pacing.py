"""When a call may go out: Slack's own Retry-After per method and channel, and fixed windows for what Slack tiers."""

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from daemon.core.ports import Clock

_PACED_FOR: Final = 60.0  # seconds of one call a second after Slack has complained
_SPACING: Final = 1.0
_QUEUE: Final = 2.0  # seconds that a call waits for its slot; whoever comes later is told when to come again
_KEYS: Final = 1000
_MINUTE: Final = 60.0

# Slack's tiers of the streaming methods, calls a minute; all conversations share them.
STREAM_TIERS: Final[Mapping[str, int]] = {"chat.startStream": 20, "chat.appendStream": 100}


@dataclass(slots=True)
class _Key:
    """What is known of one method in one channel, in monotonic seconds."""

    held_until: float = 0.0
    paced_until: float = 0.0
    next_slot: float = 0.0


class Pacing:
    """Waiting by experience: none until Slack answers 429, then its Retry-After, then a call a second for a minute."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._keys: OrderedDict[tuple[str, str], _Key] = OrderedDict()

    def held(self, method: str, channel: str) -> float:
        """Seconds that this method must still rest in this channel, or that its queue is long; 0.0 when it is free."""
        key = self._keys.get((method, channel))
        if key is None:
            return 0.0
        now = self._clock.monotonic()
        queue = key.next_slot - now if now < key.paced_until else 0.0
        return max(0.0, key.held_until - now, queue if queue > _QUEUE else 0.0)

    def throttled(self, method: str, channel: str, retry_after: float) -> None:
        """Slack answered 429 with this Retry-After, in seconds."""
        until = self._clock.monotonic() + retry_after
        self._keys[method, channel] = _Key(held_until=until, paced_until=until + _PACED_FOR, next_slot=until)
        self._keys.move_to_end((method, channel))
        while len(self._keys) > _KEYS:
            self._keys.popitem(last=False)

    async def turn(self, method: str, channel: str) -> None:
        """Wait for this key's next slot, if it is being paced."""
        key = self._keys.get((method, channel))
        if key is None:
            return
        now = self._clock.monotonic()
        if now >= key.paced_until:
            self._keys.pop((method, channel), None)
            return
        slot = max(now, key.next_slot)
        key.next_slot = slot + _SPACING
        if slot > now:
            await self._clock.sleep(slot - now)


class Window:
    """At most so many calls in any minute."""

    def __init__(self, clock: Clock, per_minute: int) -> None:
        self._clock = clock
        self._limit = per_minute
        self._taken: deque[float] = deque()

    def take(self) -> bool:
        """Take one place if there is room."""
        if self.wait_needed() > 0:
            return False
        self._taken.append(self._clock.monotonic())
        return True

    def wait_needed(self) -> float:
        """Seconds until there is room; 0.0 when there is some now."""
        now = self._clock.monotonic()
        while self._taken and now - self._taken[0] >= _MINUTE:
            self._taken.popleft()
        return 0.0 if len(self._taken) < self._limit else self._taken[0] + _MINUTE - now

    async def turn(self) -> None:
        """Wait for a place and take it."""
        while not self.take():
            await self._clock.sleep(self.wait_needed())
