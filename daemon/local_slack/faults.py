"""Injected faults of the Web API and the sockets, with their remaining counts."""

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum

from daemon.local_slack.model import Json, Posting


class FaultMode(StrEnum):
    """The effect of a fault on a Web API call (see `MethodFault`)."""

    ANSWER = "answer"
    ACCEPT_THEN_ANSWER = "accept_then_answer"
    ACCEPT_THEN_DROP = "accept_then_drop"
    RESET_BEFORE = "reset_before"


@dataclass(frozen=True, slots=True)
class MethodFault:
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
        self.refuse_status = 503
        self.refuse_handshakes = 0
        self.dead_tickets = 0
        self.greeting = ""
        self.greetings = 0
        self.silent = False
        self.ignored_acks = 0
        self.duplicates = 0
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
        left = int(getattr(self, name))
        if left:
            setattr(self, name, left - 1)
        return left > 0
