"""Ports of the inbox: catch-up, news of rooms, private rooms, marks, and the intake of arrivals."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from daemon.core.ports.arrivals import Acceptance, Arrival, Feedback
from daemon.core.room_ways import ChannelSettingsStore
from daemon.core.value import Value


class UnreadPlace(Value):
    """A place to catch up: a channel's timeline, or a thread if `thread` is the ts of its first message.

    Messages may be missing from the ts `since` on. `resume` is where the next step of reading begins, empty at first.
    `heard_ms` is the time of the last message there, 0 if unknown. `failures` counts attempts to read the place.
    """

    channel: str
    thread: str
    since: str
    resume: str = ""
    heard_ms: int = 0
    failures: int = 0


class HeardPlace(Value):
    """A conversation of the store: its channel, its thread, and the time of its last activity."""

    channel: str
    thread: str
    last_ms: int


DutyTurn = Callable[[], AbstractAsyncContextManager[float]]
"""The lease of a duty that one of several daemons does for all, held while the block runs.

Yields 0 if this daemon has the duty, else the seconds until the next try. May raise StoreError.
"""


class CatchUpLog(Protocol):
    """The progress of reading the platform's history, kept in the store: the watermark and the places still unread."""

    async def watermark(self, soul: str, workspace: str) -> str | None:
        """Return the ts up to which every message was surely received. None before the first complete reading.

        There is one watermark for the whole workspace. Only a complete reading moves it, never a live message: a
        message that arrives after a gap proves nothing about the gap. A watermark in the future counts as None.
        """

    async def ask(self, soul: str, workspace: str) -> None:
        """Have one of the daemons read missed messages after a gap. If one reads already, it reads once more."""

    def turn(self, soul: str, workspace: str) -> AbstractAsyncContextManager[float]:
        """Try to become the daemon that reads missed messages, while the block runs; see `DutyTurn`."""

    async def advance(self, soul: str, workspace: str, ts: str) -> None:
        """Move the watermark forward, or back from the future, and forget the places that are read."""

    async def heard_places(self, workspace: str, since_ms: int, older: int) -> tuple[tuple[HeardPlace, ...], int]:
        """Return the conversations active since a time, the `older` latest threads before it, and the number left out.

        The latest come first. The number left out stops at 10,000.
        """

    async def add_unread(self, soul: str, workspace: str, places: Sequence[UnreadPlace]) -> None:
        """Make places due. A due place keeps its earlier `since`. Others continue where their reading ended."""

    async def next_unread(
        self, soul: str, workspace: str, *, most_failures: int, waited_longest: bool = False
    ) -> UnreadPlace | None:
        """Return the due place with the fewest failures: of those, the one heard last, or the one that waited longest.

        None: all are read, except for those that failed `most_failures` times.
        """

    async def put_off(self, soul: str, workspace: str, place: UnreadPlace) -> None:
        """Store the changed `resume` and `failures` of a place, which remains due."""

    async def mark_read(self, soul: str, workspace: str, place: UnreadPlace, next_since: str) -> None:
        """Mark a place as read. After another gap it has to be read from `next_since` on."""

    async def mark_quiet(self, soul: str, workspace: str, channel: str, latest: Mapping[str, str]) -> None:
        """Mark due threads of a channel as read whose latest reply (ts, by thread) is older than their `since`."""

    async def known_messages(
        self, workspace: str, channel: str, timestamps: Collection[str], receiver: str
    ) -> frozenset[str]:
        """Return the messages that the store already has from this account."""

    async def known_posts(
        self, workspace: str, channel: str, thread: str, timestamps: Collection[str]
    ) -> frozenset[str]:
        """Return the soul's own posts in a thread that the store has sent, or may be sending now."""


class RoomNews(Protocol):
    """The news of rooms and users between the daemons on one memory.db: the platform informs only one of them."""

    async def tell(self, workspace: str, subjects: Collection[str]) -> None:
        """Announce to all daemons that channels or users (ids) have changed. Raises StoreError."""

    async def changed(self, workspace: str, after: int) -> tuple[frozenset[str], int]:
        """Return the ids that others announced after the news numbered `after`, and the latest number.

        News is kept longer than any daemon caches the earlier state. Raises StoreError.
        """


class RoomListKey(Value):
    """The key of a list of private rooms: a user's in a workspace, as one account of ours (`app`) sees them; ids."""

    workspace: str
    person: str
    app: str


class PersonRooms(Protocol):
    """The private rooms of users, in memory.db, shared by all daemons on it. || Every method may raise StoreError."""

    async def known(self, key: RoomListKey, soul: str, since_ms: int) -> frozenset[str] | None:
        """Return the rooms of a list read since then, as far as the soul spoke there. None without such a list.

        Of very many rooms, only those in which it spoke last.
        """

    async def lists(self, key: RoomListKey, room: str, since_ms: int) -> bool:
        """Return true if a list read since then holds the room, wherever the soul spoke."""

    async def begin(self, key: RoomListKey) -> int:
        """Return a number for `keep`. Call this before asking the platform for a list."""

    async def keep(self, key: RoomListKey, rooms: Collection[str], begun: int, asked_ms: int) -> bool:
        """Store a list that the platform gave when asked at `asked_ms`.

        Return false, and store nothing, if news outdated the list while it was read.
        """

    async def outdate(self, workspace: str, *, person: str = "", room: str = "") -> None:
        """Invalidate the lists of a person, or all lists. A given `room` is in none of them now."""

    async def open_rooms(self, workspace: str) -> frozenset[str]:
        """Return the channels of which words are stored for the whole workspace."""

    async def doubt(self, workspace: str, room: str = "") -> None:
        """Record that the readers of a room, or of any room, may not all be full members any more."""

    async def moved(self, workspace: str, person: str, zone: str) -> bool:
        """Store a person's new time zone. Return true if it replaced one: repeated reminders then move with it."""

    async def reminded(self, workspace: str, most: int) -> tuple[str, ...]:
        """Return the people with repeated reminders, soonest next."""

    async def make_private(self, workspace: str, room: str) -> None:
        """Restrict what was said in a room, and what was learned from it, to the members of that room."""


class LeftMark(Value):
    """A leftover mark at a message that no daemon works on: the id of the message's row, its place, and its state."""

    message: str
    channel: str
    ts: str
    answered: bool


class MarksKept(Protocol):
    """The messages that bear a mark of work in progress. After a crash the next daemon removes the mark.

    Every method may raise StoreError.
    """

    async def begin(self, message: str) -> None:
        """Record a mark. Call this before marking the message."""

    async def end(self, message: str) -> None:
        """Forget a mark. Call this once the mark is gone."""

    async def left(self, workspace: str, account: str) -> tuple[LeftMark, ...]:
        """Return some marks of our account at messages that no daemon works on any more."""


class Intake(Protocol):
    """The intake of arrivals. When a call returns, its effect is durable; when it raises, there is none."""

    @property
    def catch_up_log(self) -> CatchUpLog: ...

    @property
    def room_news(self) -> RoomNews: ...

    @property
    def person_rooms(self) -> PersonRooms: ...

    @property
    def room_ways(self) -> ChannelSettingsStore: ...

    async def accept(self, arrival: Arrival) -> Acceptance:
        """Store an arrival once. Raises StoreError when it is not stored: do not acknowledge the arrival then."""

    @property
    def marks(self) -> MarksKept: ...

    async def next_reminder_ms(self, soul: str, workspace: str, person: str) -> int | None:
        """Return when a person's own next reminder is due, or None. Raises StoreError."""

    async def may_ask_why(self, feedback: Feedback) -> bool:
        """Return true, once for each reply and person, if a user who rated a reply as bad may be asked why.

        Raises StoreError.
        """
