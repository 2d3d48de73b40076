"""Refusals of the workspace: injected faults with their remaining counts, and Slack's rate limits."""

import math
from collections import Counter, deque
from enum import StrEnum
from typing import Final

from msgspec import field

from daemon.core.value import Value
from daemon.local_slack.model import Json, Posting

COUNTED: Final = frozenset({"dead_tickets", "refuse_handshakes", "greet", "ignore_acks", "duplicate"})
"""The faults of the sockets that a number of tickets, handshakes, acknowledgements or events meets."""


class FaultMode(StrEnum):
    """The effect of a fault on a Web API call (see `MethodFault`)."""

    ANSWER = "answer"
    ACCEPT_THEN_ANSWER = "accept_then_answer"
    ACCEPT_THEN_DROP = "accept_then_drop"
    RESET_BEFORE = "reset_before"


class MethodFault(Value):
    """A fault of one call of `method` (`*`: of any method), after `delay` workspace seconds.

    `answer` gives `body` without performing the call, or performs the call if there is no body. `accept_then_answer`
    performs it and gives `body`. `accept_then_drop` performs it and drops the connection without a response.
    `reset_before` drops the connection without performing it.
    """

    method: str
    mode: FaultMode = FaultMode.ANSWER
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: Json | None = None
    delay: float = 0.0


class Faults:
    """The faults that still apply."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._methods: dict[str, deque[MethodFault]] = {}
        self.counts = Counter[str]()
        self.refuse_status = 503
        self.greeting = ""
        self.silent = False
        self.mention_first = False
        self.refuse_chunks = False
        self.posting: dict[str, Posting] = {}
        self.archived: set[str] = set()
        self.locked: set[tuple[str, str]] = set()

    def refusal(self, channel: str, thread: str) -> str:
        """Return Slack's error code for a message to a channel or thread that takes none, or ''."""
        if channel in self.archived:
            return "is_archived"
        policy = self.posting.get(channel)
        if policy in (Posting.RESTRICTED, Posting.READ_ONLY):
            return policy
        if (policy is Posting.NO_THREADS and thread) or (policy is Posting.THREADS_ALONE and not thread):
            return policy
        return "restricted_action_thread_locked" if (channel, thread) in self.locked else ""

    def add(self, fault: MethodFault, times: int) -> None:
        """Apply a fault to the next `times` calls of its method, after the faults already queued."""
        self._methods.setdefault(fault.method, deque()).extend([fault] * times)

    def take(self, method: str) -> MethodFault | None:
        """Remove and return the next fault for a call, or None."""
        for name in (method, "*"):
            if waiting := self._methods.get(name):
                return waiting.popleft()
        return None

    def left(self) -> dict[str, int]:
        """Return the number of calls of each method that still meet a fault."""
        return {method: len(waiting) for method, waiting in self._methods.items() if waiting}

    def spend(self, name: str) -> bool:
        """Use up one count of a fault such as `dead_tickets`. Return False if none is left."""
        left = self.counts[name]
        self.counts[name] = max(0, left - 1)
        return left > 0


class Profile(StrEnum):
    """The profile of rate limits."""

    OFF = "off"
    SLACK = "slack"


class Tier(StrEnum):
    """The tiers of Slack's rate limits. POSTING limits per channel, FREE has no limit."""

    ONE = "1"
    TWO = "2"
    THREE = "3"
    FOUR = "4"
    POSTING = "posting"
    FREE = "free"


CALLS_PER_MINUTE: Final = {Tier.ONE: 1, Tier.TWO: 20, Tier.THREE: 50, Tier.FOUR: 100}
"""The guaranteed minimum of calls per tier (Slack). Tier 1 allows a small burst: several sockets can open at start."""
_TIER_ONE_BURST: Final = 10
_POST_BURST: Final = 4
_MINUTE: Final = 60.0


class RateLimits:
    """The counts of calls per method, and posts per channel, by the workspace's clock."""

    def __init__(self, profile: Profile = Profile.OFF) -> None:
        self.profile = profile
        self._calls: dict[str, deque[float]] = {}
        self._posts: dict[str, tuple[float, float]] = {}

    def check(self, method: str, tier: Tier, channel: str, now: float) -> int:
        """Return 0 if the call is allowed, else the whole seconds to wait (Retry-After)."""
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
