"""The messages of one channel: found by ts, paged by bisection, ordered by strictly increasing ts."""

import re
from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass

from daemon.local_slack.model import WorkspaceMessage

_TS = re.compile(r"\d{10}\.\d{6}")


def is_ts(text: str) -> bool:
    """Whether the text is a message id in Slack's form, such as `1700000000.000100`."""
    return _TS.fullmatch(text) is not None


def bound(text: str) -> str:
    """A time bound (`0`, `1700000000`, `1700000000.5`) in a form that compares with ts values. Raises ValueError."""
    seconds, _, fraction = text.partition(".")
    if not seconds.isdigit() or (fraction and not fraction.isdigit()):
        raise ValueError(text)
    return f"{int(seconds):010d}.{fraction[:6].ljust(6, '0')}"


@dataclass(frozen=True, slots=True)
class Span:
    """A time range as Slack's `oldest`, `latest` and `inclusive` give it; an empty bound is open."""

    oldest: str = ""
    latest: str = ""
    inclusive: bool = False

    def cut(self, order: list[str]) -> list[str]:
        """The ts values of a sorted list that are inside this span."""
        start, end = 0, len(order)
        if self.oldest:
            start = bisect_left(order, self.oldest) if self.inclusive else bisect_right(order, self.oldest)
        if self.latest:
            end = bisect_right(order, self.latest) if self.inclusive else bisect_left(order, self.latest)
        return order[start:end]


class Timeline:
    """One channel's messages. Values are replaced, never changed in place."""

    def __init__(self) -> None:
        self._messages: dict[str, WorkspaceMessage] = {}
        self._order: list[str] = []
        self._threads: dict[str, list[str]] = {}
        self._last_micros = 0

    def next_ts(self, now: float) -> str:
        """A ts for `now` (seconds), larger than all ts given before."""
        self._last_micros = max(self._last_micros + 1, int(now * 1_000_000))
        return f"{self._last_micros // 1_000_000}.{self._last_micros % 1_000_000:06d}"

    def get(self, ts: str) -> WorkspaceMessage | None:
        """The message with this ts, or None."""
        return self._messages.get(ts)

    def put(self, message: WorkspaceMessage) -> None:
        """Add a message, or replace the one with the same ts."""
        known = self._messages.get(message.ts)
        self._messages[message.ts] = message
        if known is None and message.is_reply:
            insort(self._threads.setdefault(message.thread_ts, []), message.ts)
        if message.in_timeline and not (known is not None and known.in_timeline):
            insort(self._order, message.ts)

    def remove(self, ts: str) -> None:
        """Remove a message."""
        message = self._messages.pop(ts)
        for order in (self._order, self._threads.get(message.thread_ts, [])):
            place = bisect_left(order, ts)
            if place < len(order) and order[place] == ts:
                del order[place]

    @property
    def newest(self) -> str:
        """The ts of the newest message in the timeline; empty without one."""
        return self._order[-1] if self._order else ""

    def history(self, span: Span) -> list[str]:
        """The ts values that channel history shows in a span, oldest first."""
        return span.cut(self._order)

    def replies(self, root: str) -> list[str]:
        """The ts values under a root, oldest first, without the root."""
        return self._threads.get(root, [])

    def everything(self) -> list[WorkspaceMessage]:
        """All messages, replies included, oldest first."""
        return [self._messages[ts] for ts in sorted(self._messages)]
