"""Catching up: which messages of a platform's history are still to be read."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class UnreadPlace:
    """A channel's timeline, or a thread if `thread` is the ts of its first message, whose messages may be missing.

    They are missing from the ts `since` on. `resume` is where the next step of reading begins, empty for the first one.
    `heard_ms` is when the last message there was written, 0 if unknown. `failures` counts attempts to read it.
    """

    channel: str
    thread: str
    since: str
    resume: str = ""
    heard_ms: int = 0
    failures: int = 0


@dataclass(frozen=True, slots=True)
class HeardPlace:
    """A conversation of the store: its channel, its thread, and when it was last active."""

    channel: str
    thread: str
    last_ms: int


DutyTurn = Callable[[], AbstractAsyncContextManager[float]]
"""Something that one of several daemons does for all, as long as the block runs: 0 where this one is to do it now.

Else the seconds after which to look again. May raise StoreError.
"""


class CatchUpLog(Protocol):
    """How far the platform's history was read, and which places are still to be read; survives the daemon."""

    async def watermark(self, soul: str, workspace: str) -> str | None:
        """The ts up to which every message was surely received, or None before the first complete reading.

        There is one watermark for the whole workspace. Only a complete reading moves it, never a live message: a
        message that arrives after a gap proves nothing about the gap. One in the future counts as None.
        """

    async def ask(self, soul: str, workspace: str) -> None:
        """Have one of the daemons read what was missed, after a gap; once more, if one reads already."""

    def turn(self, soul: str, workspace: str) -> AbstractAsyncContextManager[float]:
        """Whether this daemon is to read what was missed, while the block runs; see `DutyTurn`."""

    async def advance(self, soul: str, workspace: str, ts: str) -> None:
        """Move the watermark forward, or back from the future, and forget the places that are read."""

    async def heard_places(self, workspace: str, since_ms: int, older: int) -> tuple[tuple[HeardPlace, ...], int]:
        """Conversations active since a time, and the `older` latest threads from before it; then how many are left out.

        The latest come first. The count of those left out stops at 10,000.
        """

    async def add_unread(self, soul: str, workspace: str, places: Sequence[UnreadPlace]) -> None:
        """Make places due. One that is due keeps the earlier `since`; one that was read goes on where that ended."""

    async def next_unread(
        self, soul: str, workspace: str, *, most_failures: int, waited_longest: bool = False
    ) -> UnreadPlace | None:
        """The due place with the fewest failures that was heard last, or of those the one that waited longest.

        None: all are read, but for those that failed `most_failures` times.
        """

    async def put_off(self, soul: str, workspace: str, place: UnreadPlace) -> None:
        """Store the changed `resume` and `failures` of a place, which stays due."""

    async def mark_read(self, soul: str, workspace: str, place: UnreadPlace, next_since: str) -> None:
        """A place is read; after another gap it has to be read from `next_since` on."""

    async def mark_quiet(self, soul: str, workspace: str, channel: str, latest: Mapping[str, str]) -> None:
        """Due threads of a channel whose latest reply (ts, by the thread) is older than their `since` count as read."""

    async def known_messages(
        self, workspace: str, channel: str, timestamps: Collection[str], receiver: str
    ) -> frozenset[str]:
        """Those of the messages that the store has from this account of ours."""

    async def known_posts(
        self, workspace: str, channel: str, thread: str, timestamps: Collection[str]
    ) -> frozenset[str]:
        """Those of the soul's own posts in a thread that the store has sent, or may be sending now."""
