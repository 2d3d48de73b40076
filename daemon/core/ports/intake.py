"""Where a channel hands over what arrives, and what it asks of the store about rooms and people."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from daemon.core.ports.arrivals import Acceptance, Arrival, Feedback
from daemon.core.ports.catch_up import CatchUpLog
from daemon.core.room_ways import RoomWays


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
