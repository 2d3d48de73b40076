"""Slack's rate limits: calls per minute by tier, and about one post per second and channel with a short burst."""

import math
from collections import deque
from enum import StrEnum
from typing import Final


class Profile(StrEnum):
    """Which limits are in force."""

    OFF = "off"
    SLACK = "slack"


class Tier(StrEnum):
    """Slack's rate limit tiers of methods; POSTING limits per channel, FREE does not limit."""

    ONE = "1"
    TWO = "2"
    THREE = "3"
    FOUR = "4"
    POSTING = "posting"
    FREE = "free"


CALLS_PER_MINUTE: Final = {Tier.ONE: 1, Tier.TWO: 20, Tier.THREE: 50, Tier.FOUR: 100}
"""Slack's guaranteed minimum per tier. Tier 1 allows a small burst, so that several sockets can open at start."""
_TIER_ONE_BURST: Final = 10
_POST_BURST: Final = 4
_MINUTE: Final = 60.0


class RateLimits:
    """Counts calls per method, and posts per channel, by the workspace's clock."""

    def __init__(self, profile: Profile = Profile.OFF) -> None:
        self.profile = profile
        self._calls: dict[str, deque[float]] = {}
        self._posts: dict[str, tuple[float, float]] = {}

    def check(self, method: str, tier: Tier, channel: str, now: float) -> int:
        """Zero when the call is allowed, else the whole seconds to wait (Retry-After)."""
        if self.profile is Profile.OFF or tier is Tier.FREE:
            return 0
        return self._check_post(channel, now) if tier is Tier.POSTING else self._check_tier(method, tier, now)

    def _check_tier(self, method: str, tier: Tier, now: float) -> int:
        allowed = _TIER_ONE_BURST if tier is Tier.ONE else CALLS_PER_MINUTE[tier]
        calls = self._calls.setdefault(method, deque())
        while calls and calls[0] <= now - _MINUTE:
            calls.popleft()
        if len(calls) >= allowed:
            return max(1, math.ceil(calls[0] + _MINUTE - now))
        calls.append(now)
        return 0

    def _check_post(self, channel: str, now: float) -> int:
        left, since = self._posts.get(channel, (float(_POST_BURST), now))
        left = min(float(_POST_BURST), left + now - since)
        if left < 1:
            self._posts[channel] = (left, now)
            return max(1, math.ceil(1 - left))
        self._posts[channel] = (left - 1, now)
        return 0
