"""The live feed: everything that changes, numbered, each reader getting only what it may see."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from daemon.local_slack.model import Json
from daemon.local_slack.state import State

_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that happened. Visible to the readers of `channel`, to `person` alone, or only to the operator."""

    number: int
    kind: str
    data: Json
    channel: str = ""
    person: str = ""
    operator: bool = False


class Feed:
    """A bounded log that any number of readers follow, each at its own pace."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._changes: dict[int, Change] = {}
        self._last = 0
        self._news = asyncio.Event()
        self._closed = False

    @property
    def cursor(self) -> int:
        """The number of the newest change."""
        return self._last

    def publish(self, kind: str, data: Json, *, channel: str = "", person: str = "", operator: bool = False) -> None:
        """Tell every reader who may see it."""
        self._last += 1
        self._changes[self._last] = Change(self._last, kind, data, channel, person, operator)
        if len(self._changes) > _KEPT:
            del self._changes[self._last - _KEPT]
        self.wake()

    def wake(self) -> None:
        """Let every waiting reader look up, also when nothing changed (its connection may be gone)."""
        self._news.set()
        self._news = asyncio.Event()

    def close(self) -> None:
        """End every reader's iteration."""
        self._closed = True
        self.wake()

    async def follow(self, person: str, after: int) -> AsyncIterator[tuple[Change, ...]]:
        """Yield what a person may see, in order, in batches; empty ones let a reader notice that it is alone.

        An empty `person` is the operator, who sees all. A reader that fell too far behind gets a `reset`.
        """
        while not self._closed:
            if after + 1 < self._last - _KEPT + 1:
                after = self._last
                yield (Change(after, "reset", {}),)
            news, start, after = self._news, after, self._last
            yield tuple(c for n in range(start + 1, after + 1) if self.visible(c := self._changes[n], person))
            if after == self._last and not self._closed:
                await news.wait()

    def visible(self, change: Change, person: str) -> bool:
        """Whether a reader may see a change; the operator (no name) may see everything."""
        if not person:
            return True
        if change.operator or (change.person and change.person != person):
            return False
        if not change.channel:
            return True
        room = self._state.channels.get(change.channel)
        return room is not None and self._state.sees(person, room)
