"""Keeps calls within Slack's rate limits: before Slack refuses one, and for its Retry-After after it did.

Slack counts most methods for the app and workspace as a whole, in calls a minute; posts it counts for each channel.
"""

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from daemon.core.ports.clock import Clock

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

_PACED_FOR: Final = 60.0  # seconds of evenly spaced calls after a 429
_POST_SPACING: Final = 1.0
_POST_BURST: Final = 4  # posts to one channel at once
_QUEUE: Final = 2.0  # the longest wait for a slot in seconds; a later call fails with the time to wait
_MOST_LIMITS: Final = 1000
_MINUTE: Final = 60.0

POSTING: Final = frozenset({"chat.postMessage"})
"""Methods that Slack counts for each channel."""
TIERS: Final[Mapping[str, int]] = {
    "agents.sessions.rename": 50,
    "agents.sessions.setStatus": 50,
    "assistant.threads.setSuggestedPrompts": 50,
    "chat.appendStream": 100,
    "chat.delete": 50,
    "chat.postEphemeral": 100,
    "chat.startStream": 20,
    "chat.stopStream": 20,
    "chat.update": 50,
    "conversations.history": 50,
    "conversations.info": 50,
    "conversations.members": 100,
    "conversations.open": 50,
    "conversations.replies": 50,
    "files.delete": 50,
    "users.conversations": 50,
    "users.info": 100,
}
"""Slack's tiers in calls a minute, for the app and workspace as a whole."""
# Reads can be repeated at will, and Slack lets bursts of them pass: they wait for its own 429 alone.
_READS: Final = frozenset(
    {
        *("conversations.history", "conversations.info", "conversations.members", "conversations.replies"),
        *("users.conversations", "users.info"),
    }
)


@dataclass(slots=True)
class _Limit:
    """The rate limit of one method, for one channel where Slack counts so, in monotonic seconds."""

    held_until: float = 0.0
    paced_until: float = 0.0
    next_slot: float = 0.0


class Pacing:
    """Delays calls: with `ahead` writes to Slack's known limits from the first call on, any call after a 429.

    After a 429 it waits for its Retry-After, and spaces the calls evenly for a minute.
    """

    def __init__(self, clock: Clock, *, ahead: bool) -> None:
        self._clock = clock
        self._ahead = ahead
        self._limits: OrderedDict[tuple[str, str], _Limit] = OrderedDict()
        self._windows = {method: Window(clock, most) for method, most in TIERS.items() if method not in _READS}
        self._posts: OrderedDict[str, float] = OrderedDict()  # when each channel's burst is whole again

    def pause_needed(self, method: str, channel: str) -> float:
        """Seconds before this method may be called again in this channel; 0.0 if a slot is free or near."""
        now, ahead = self._clock.monotonic(), self._wait_ahead(method, channel)
        ahead = ahead if ahead > _QUEUE else 0.0
        limit = self._limits.get(_key(method, channel))
        if limit is None:
            return ahead
        queue = limit.next_slot - now if now < limit.paced_until else 0.0
        return max(ahead, limit.held_until - now, queue if queue > _QUEUE else 0.0)

    def throttled(self, method: str, channel: str, retry_after: float) -> None:
        """Note a 429 with its Retry-After in seconds."""
        key, until = _key(method, channel), self._clock.monotonic() + retry_after
        self._limits[key] = _Limit(held_until=until, paced_until=until + _PACED_FOR, next_slot=until)
        _trim(self._limits, key)

    async def wait_for_slot(self, method: str, channel: str) -> None:
        """Wait for the next slot and take it."""
        if wait := self._take_ahead(method, channel):
            await self._clock.sleep(wait)
        limit = self._limits.get(_key(method, channel))
        if limit is None:
            return
        now = self._clock.monotonic()
        if now >= limit.paced_until:
            self._limits.pop(_key(method, channel), None)
            return
        slot = max(now, limit.next_slot)
        limit.next_slot = slot + (_MINUTE / TIERS[method] if method in TIERS else _POST_SPACING)
        if slot > now:
            await self._clock.sleep(slot - now)

    def _wait_ahead(self, method: str, channel: str) -> float:
        """Seconds until Slack's known limit has room for a call."""
        if not self._ahead:
            return 0.0
        if method in POSTING:
            whole_again = self._posts.get(channel, 0.0)
            return max(0.0, whole_again - self._clock.monotonic() - (_POST_BURST - 1) * _POST_SPACING)
        window = self._windows.get(method)
        return window.wait_needed() if window else 0.0

    def _take_ahead(self, method: str, channel: str) -> float:
        """Take a slot of Slack's known limit; returns the seconds until it begins."""
        wait = self._wait_ahead(method, channel)
        if not self._ahead:
            return 0.0
        if method in POSTING:
            self._posts[channel] = max(self._clock.monotonic(), self._posts.get(channel, 0.0)) + _POST_SPACING
            _trim(self._posts, channel)
        elif window := self._windows.get(method):
            window.book()
        return wait


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

    def book(self) -> None:
        """Take the next slot, now or as soon as `wait_needed` says."""
        self._taken.append(self._clock.monotonic() + self.wait_needed())

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
    return method, "" if method in TIERS else channel


def _trim(kept: OrderedDict[_Key, _Value], newest: _Key) -> None:
    kept.move_to_end(newest)
    while len(kept) > _MOST_LIMITS:
        kept.popitem(last=False)
