"""Ports: what the daemon needs of the clock, models, channels, libraries, tools and telemetry.

A port says what its implementer must do. Adapters import these modules and the values in them, never the mind. The
store is not a port: tests run on a real SQLite file.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from daemon.core.ports.arrivals import Acceptance, Arrival, Feedback
from daemon.core.room_ways import RoomWays


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


class RoomNews(Protocol):
    """What the daemons on one memory.db tell each other of rooms and users: the platform tells only one of them."""

    async def tell(self, workspace: str, subjects: Collection[str]) -> None:
        """Tell all daemons that channels or users (ids) have changed. Raises StoreError."""

    async def changed(self, workspace: str, after: int) -> tuple[frozenset[str], int]:
        """The ids of what others told after the news numbered `after`, and the number of the latest of it.

        News is kept longer than anybody remembers what was true before it. Raises StoreError.
        """


@dataclass(frozen=True, slots=True)
class RoomListKey:
    """Whose private rooms a list holds: a user's in a workspace, as one account of ours (`app`) sees them; ids."""

    workspace: str
    person: str
    app: str


class PersonRooms(Protocol):
    """Which private rooms users are in, in memory.db; all daemons on it share what one of them heard.

    Every method may raise StoreError.
    """

    async def known(self, key: RoomListKey, soul: str, since_ms: int) -> frozenset[str] | None:
        """The rooms of a list that was read since then, as far as the soul spoke there; None if there is no such list.

        Of very many rooms, those in which it spoke last.
        """

    async def lists(self, key: RoomListKey, room: str, since_ms: int) -> bool:
        """Whether a room stands in a list that was read since then, wherever the soul spoke."""

    async def begin(self, key: RoomListKey) -> int:
        """To be called before the platform is asked for a list; gives a number to `keep` it by."""

    async def keep(self, key: RoomListKey, rooms: Collection[str], begun: int, asked_ms: int) -> bool:
        """Keep a list that the platform gave when it was asked at `asked_ms`.

        False, and nothing is kept, if news outdated it while it was read.
        """

    async def outdate(self, workspace: str, *, person: str = "", room: str = "") -> None:
        """Lists are no longer true: those of a person, or all; a room, if one is named, stands in none of them now."""

    async def open_rooms(self, workspace: str) -> frozenset[str]:
        """The channels of which words are kept that the whole workspace may know."""

    async def doubt(self, workspace: str, room: str = "") -> None:
        """It isn't known any more whether all who read in a room, or in any room, are full members."""

    async def moved(self, workspace: str, person: str, zone: str) -> bool:
        """A person lives in a time zone by now; true if another one was known, from which what repeats is moved."""

    async def reminded(self, workspace: str, most: int) -> tuple[str, ...]:
        """The people for whom something repeats, those whose next time is soonest."""

    async def make_private(self, workspace: str, room: str) -> None:
        """What was said in a room, and what was learned of it, is for its members alone from now on."""


@dataclass(frozen=True, slots=True)
class LeftMark:
    """A mark at a message that nobody works on: the id of its row, where it stands, and whether it was answered."""

    message: str
    channel: str
    ts: str
    answered: bool


class MarksKept(Protocol):
    """Which messages bear the mark of what is worked on; a daemon that dies leaves it to the next.

    Every method may raise StoreError.
    """

    async def begin(self, message: str) -> None:
        """To be called before a message is marked."""

    async def end(self, message: str) -> None:
        """To be called when the mark is gone."""

    async def left(self, workspace: str, account: str) -> tuple[LeftMark, ...]:
        """The marks of an account of ours at messages that nobody works on any more, some at once."""


class Intake(Protocol):
    """Takes arrivals from a channel. When a call returns, its effect is durable; when it raises, there is none."""

    @property
    def catch_up_log(self) -> CatchUpLog:
        """Where the reading of the platform's history stands."""

    @property
    def room_news(self) -> RoomNews:
        """What other daemons heard of rooms and users."""

    @property
    def person_rooms(self) -> PersonRooms:
        """Which private rooms users are in."""

    @property
    def room_ways(self) -> RoomWays:
        """How the soul works in each channel."""

    async def accept(self, arrival: Arrival) -> Acceptance:
        """Store an arrival once. Raises StoreError when it is not stored: do not acknowledge it then."""

    @property
    def marks(self) -> MarksKept:
        """Which messages bear a mark."""

    async def next_reminder_ms(self, soul: str, workspace: str, person: str) -> int | None:
        """When the next reminder of a person's own is due; None where none waits. Raises StoreError."""

    async def may_ask_why(self, feedback: Feedback) -> bool:
        """Whether to ask who called a reply bad what was wrong; true once for each reply and person.

        Raises StoreError.
        """
