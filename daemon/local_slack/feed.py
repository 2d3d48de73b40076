"""The live feed of numbered changes of the workspace, also as Server-Sent Events."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress

from aiohttp import web

from daemon.core.value import Value
from daemon.local_slack.model import Json
from daemon.local_slack.slack_json import as_seen
from daemon.local_slack.state import WorkspaceState

_KEPT = 20_000


class FeedChange(Value):
    """One change: for readers of `channel`, for `person`, or (`internal`) for readers without a person."""

    number: int
    kind: str
    data: Json
    channel: str = ""
    person: str = ""
    internal: bool = False
    recipient: str = ""

    def as_seen_by(self, person: str) -> Json:
        """Return the data for a reader. Others than the recipient see only the beginning of an open stream."""
        shape = self.data.get("message")
        return self.data if shape is None else self.data | {"message": as_seen(shape, self.recipient, person)}


class Feed:
    """A bounded log of changes. Any number of readers follow it, each at its own pace."""

    def __init__(self, state: WorkspaceState) -> None:
        self._state = state
        self._changes: dict[int, FeedChange] = {}
        self._last = 0
        self._news = asyncio.Event()
        self._closed = False

    @property
    def cursor(self) -> int:
        return self._last

    def publish(
        self, kind: str, data: Json, *, channel: str = "", person: str = "", internal: bool = False, recipient: str = ""
    ) -> None:
        self._last += 1
        self._changes[self._last] = FeedChange(self._last, kind, data, channel, person, internal, recipient)
        if len(self._changes) > _KEPT:
            del self._changes[self._last - _KEPT]
        self.wake()

    def wake(self) -> None:
        """Wake every waiting reader. Without a change a reader then checks whether its connection has ended."""
        self._news.set()
        self._news = asyncio.Event()

    def close(self) -> None:
        """End every reader's iteration."""
        self._closed = True
        self.wake()

    async def follow(self, person: str, after: int) -> AsyncIterator[tuple[FeedChange, ...]]:
        """Yield the changes a person may see, in order, in batches.

        A batch is empty after a bare `wake`. Without a person, all changes are yielded. A reader that fell too far
        behind gets a `reset`.
        """
        while not self._closed:
            if after + 1 < self._last - _KEPT + 1:
                after = self._last
                yield (FeedChange(after, "reset", {}),)
            news, start, after = self._news, after, self._last
            yield tuple(c for n in range(start + 1, after + 1) if self.visible(c := self._changes[n], person))
            if after == self._last and not self._closed:
                await news.wait()

    async def stream(
        self,
        request: web.Request,
        first: bytes,
        frames: Callable[[Sequence[FeedChange]], bytes],
        *,
        person: str = "",
        after: int | None = None,
    ) -> web.StreamResponse:
        """Send Server-Sent Events of changes until the reader disconnects or the feed is closed."""
        after = self.cursor if after is None else after
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        with suppress(ConnectionError):
            await response.prepare(request)
            await response.write(first)
            async for batch in self.follow(person, after):
                if request.transport is None or request.transport.is_closing():
                    break
                if sent := frames(batch):
                    await response.write(sent)
        return response

    def visible(self, change: FeedChange, person: str) -> bool:
        """Return True if a reader may see a change. A reader without a person may see all."""
        if not person:
            return True
        if change.internal or (change.person and change.person != person):
            return False
        if not change.channel:
            return True
        room = self._state.channels.get(change.channel)
        return room is not None and self._state.sees(person, room)
