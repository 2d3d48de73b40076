"""What is true of a small workspace: who is in which room, what was said there, and who may be reminded of it.

It knows nothing of the daemon, so that it can judge it.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from msgspec.structs import replace

from daemon.core.value import Value

MEMBERS, GUESTS = ("Ada", "Ben", "Chloe"), ("Gus",)
PEOPLE = (*MEMBERS, *GUESTS)
"""The users of a local workspace."""

_SYLLABLES = ("ka", "ro", "mi", "tel", "bus", "dan", "pol", "vex", "ni", "gor", "lam", "zu")
_REPORTED = 5_000  # above the numbers of what people say


class Kind(StrEnum):
    """The kind of a room; the values are Slack's."""

    PUBLIC = "channel"
    PRIVATE = "group"
    GROUP_DM = "mpim"
    DM = "im"


class Room(Value):
    """A room: `inside` are names; the soul is in it unless it was taken out (`deaf`)."""

    name: str
    kind: Kind
    inside: frozenset[str]
    archived: bool = False
    deaf: bool = False


class Remark(Value):
    """Something that was said: a topic to ask for, and the word that only its hearers may be shown."""

    room: str
    person: str
    topic: str
    word: str
    number: int = 0

    @property
    def text(self) -> str:
        return f"the {self.topic} belongs to {self.word}"


class Change(StrEnum):
    JOIN = "join"
    LEAVE = "leave"
    CONVERT = "convert"
    ARCHIVE = "archive"
    STANDING = "standing"
    RENAME = "rename"
    SHARE = "share"
    SOUL = "soul"


USUAL = (*Change, Change.JOIN, Change.LEAVE, Change.LEAVE)
"""What changes, the frequent ones more often."""


class Turned(Value):
    change: Change
    room: str = ""
    person: str = ""


class Probe(Value):
    """A user asks in a room for what was said; while the reply is made, something may change (`meanwhile`)."""

    person: str
    room: str
    saying: Remark
    meanwhile: Turned | None = None


@dataclass
class Ground:
    """The truth, and the chance by which it changes."""

    chance: Random
    changes: tuple[Change, ...] = USUAL
    rooms: dict[str, Room] = field(default_factory=dict)
    guests: set[str] = field(default_factory=lambda: set(GUESTS))
    shared: set[str] = field(default_factory=set)
    sayings: list[Remark] = field(default_factory=list)
    repeated: list[Remark] = field(default_factory=list)
    reported: list[Remark] = field(default_factory=list)
    """What a program reported to the soul in a room; nobody asks for it."""
    private: set[tuple[str, str]] = field(default_factory=set)
    """Words and rooms in which they stand, which not everybody in the workspace could always read."""
    opened: set[tuple[str, str]] = field(default_factory=set)
    """Those of them that the soul said again there, once the room was public."""

    def __post_init__(self) -> None:
        """Furnish it: two public channels, three private ones, a group DM, and everybody's DM."""
        for name, kind in (("pub1", Kind.PUBLIC), ("pub2", Kind.PUBLIC), *((f"priv{n}", Kind.PRIVATE) for n in "123")):
            inside = frozenset(one for one in PEOPLE if self.chance.random() < (0.4 if one in GUESTS else 0.6))
            self.rooms[name] = Room(name, kind, inside | {"Ada"})
        self.rooms["trio"] = Room("trio", Kind.GROUP_DM, frozenset({"Ada", "Ben"}))
        for person in PEOPLE:
            self.rooms[dm_of(person)] = Room(dm_of(person), Kind.DM, frozenset({person}))

    # -- what may be -------------------------------------------------------------------------------------------------

    def speakers(self) -> list[tuple[str, str]]:
        """Who can speak where, and the soul hears it."""
        rooms = [one for one in self.rooms.values() if not (one.archived or one.deaf)]
        return [(person, room.name) for room in rooms for person in sorted(room.inside)]

    def readers(self, room: str) -> frozenset[str]:
        """The people in a room; they read what is said there as it is said."""
        return self.rooms[room].inside

    def allowed(self, question: Probe) -> bool:
        """Whether all readers of the reply may be shown what it asks for."""
        here, there = self.rooms[question.room], self.rooms[question.saying.room]
        if here.name == there.name:
            return True
        if self.readers(here.name) & self.guests or here.name in self.shared:
            return False
        if (question.saying.word, there.name) in self.private or there.kind is not Kind.PUBLIC:
            return (
                here.kind is Kind.DM
                and there.kind is Kind.PRIVATE
                and here.inside <= there.inside
                and not (there.archived or there.deaf)
            )
        return True

    def useful(self, question: Probe) -> bool:
        """Whether it has to be shown; what was said in private is lost where its channel became public."""
        there = self.rooms[question.saying.room]
        opened = (
            (question.saying.word, there.name) in self.private | self.opened
            and there.kind is Kind.PUBLIC
            and there.name not in self.shared
        )
        return self.allowed(question) and (not opened or there.name in self.shared)

    # -- what happens ------------------------------------------------------------------------------------------------

    def saying(self) -> Remark:
        said = self._remark(f"canary{len(self.sayings):04d}")
        self.sayings.append(said)
        return said

    def report(self) -> Remark:
        """A program reports something new, in a room where somebody speaks to it.

        It is said in no channel: that a public one is shared with others just now keeps it from no member.
        """
        remark = self._remark(f"canary{_REPORTED + len(self.reported):04d}")
        if self.rooms[remark.room].kind is Kind.PUBLIC:
            self.private.discard((remark.word, remark.room))
        self.reported.append(remark)
        return remark

    def _remark(self, word: str) -> Remark:
        person, name = self.chance.choice(self.speakers())
        number = len(self.sayings)
        topic = "".join(self.chance.choices(_SYLLABLES, k=4)) + str(number)
        said = Remark(name, person, topic, word, number)
        self._stands(said)
        return said

    def repeat(self, saying: Remark, room: str) -> None:
        """The soul says the words of another again, in a room where its users read them from now on."""
        if all((one.word, one.room) != (saying.word, room) for one in self._stand):
            self.repeated.append(replace(saying, room=room))
            self._stands(self.repeated[-1])
        elif (saying.word, room) in self.private and self._is_public(room):
            self.private.remove((saying.word, room))
            self.opened.add((saying.word, room))

    def known(self, word: str, question: Probe) -> bool:
        """Whether all readers of the reply may be shown a word, wherever it stands."""
        return any(self.allowed(replace(question, saying=one)) for one in self._stand if one.word == word)

    @property
    def _stand(self) -> tuple[Remark, ...]:
        return (*self.sayings, *self.reported, *self.repeated)

    def _stands(self, said: Remark) -> None:
        if not self._is_public(said.room):
            self.private.add((said.word, said.room))

    def _is_public(self, room: str) -> bool:
        return self.rooms[room].kind is Kind.PUBLIC and room not in self.shared

    def question(self) -> Probe:
        """Somebody asks for something that was said, most often for something that they may know."""
        asks = [Probe(person, room, self.chance.choice(self.sayings)) for person, room in self.speakers()]
        known = [one for one in asks if self.useful(one)] if self.chance.random() < 0.5 else []  # half
        asked = self.chance.choice(known or asks)
        near = self.chance.choice((asked.room, asked.saying.room, ""))
        return replace(asked, meanwhile=self.turn(near) if self.chance.random() < 0.2 else None)  # a fifth

    def turn(self, near: str = "") -> Turned | None:
        """Something that can change now, in a room if it is named; it has not happened yet."""
        change = self.chance.choice(self.changes)
        if change is Change.STANDING:
            return Turned(change, person=self.chance.choice(MEMBERS[1:]))
        channels = [one for one in self.rooms.values() if one.kind in (Kind.PUBLIC, Kind.PRIVATE)]
        room = self.chance.choice([one for one in channels if one.name == near] or channels)
        people = [one for one in PEOPLE if (one in room.inside) is (change is Change.LEAVE)]
        moves = change in (Change.JOIN, Change.LEAVE)
        person = self.chance.choice(people) if moves and people else ""
        possible = (
            (not room.deaf or change is Change.SOUL)  # else the soul could not know of it
            and (not room.archived or change in (Change.ARCHIVE, Change.SOUL))
            and (bool(person) or not moves)
        )
        return Turned(change, room.name, person) if possible else None

    def leaving(self, question: Probe) -> Turned | None:
        """The user of a DM leaves the private channel that they ask about."""
        here, there = self.rooms[question.room], self.rooms[question.saying.room]
        heard = there.kind is Kind.PRIVATE and not (there.deaf or there.archived)
        if here.kind is not Kind.DM or not heard or question.person not in there.inside:
            return None
        return Turned(Change.LEAVE, there.name, question.person)

    def apply(self, turned: Turned) -> None:
        if turned.change is Change.STANDING:
            self.guests ^= {turned.person}
        elif turned.change is Change.SHARE:
            self.shared ^= {turned.room}
        else:
            self.rooms[turned.room] = self._changed(self.rooms[turned.room], turned)

    def _changed(self, room: Room, turned: Turned) -> Room:
        match turned.change:
            case Change.JOIN:
                return replace(room, inside=room.inside | {turned.person})
            case Change.LEAVE:
                return replace(room, inside=room.inside - {turned.person})
            case Change.CONVERT:
                self.private |= {(one.word, one.room) for one in self._stand if one.room == room.name}
                return replace(room, kind=Kind.PUBLIC if room.kind is Kind.PRIVATE else Kind.PRIVATE)
            case Change.ARCHIVE:
                return replace(room, archived=not room.archived)
            case Change.SOUL:
                return replace(room, deaf=not room.deaf)
        return room  # another name changes nothing


def dm_of(person: str) -> str:
    return f"dm of {person}"
