"""What is true of a workspace whose people talk, share contexts and run sessions: who may be shown which word, where.

It knows nothing of the daemon, so that it can judge it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Final

from daemon.core.value import Value

MEMBERS: Final = frozenset({"Ada", "Ben", "Chloe"})
GUEST: Final = "Gus"
EVERYBODY: Final = MEMBERS | {GUEST}
ROOMS: Final[Mapping[str, frozenset[str]]] = {
    "open": MEMBERS,
    "lounge": EVERYBODY,
    "closed": frozenset({"Ada", "Ben"}),
    **{f"dm of {one}": frozenset({one}) for one in EVERYBODY},
}
"""The rooms, and who is in them; the first two are public."""

CONTEXTS: Final[Mapping[str, str]] = {"launch": "", "inner": "closed", "mine": "dm of Ada"}
"""The shared contexts, each with the room whose people may know it; "" for the whole workspace."""

ADMIN, COMMAND = "the admin's token", "the admin's commands"
_PUBLIC: Final = frozenset({"open", "lounge"})
_SYLLABLES: Final = ("ka", "ro", "mi", "tel", "bus", "dan", "pol", "vex", "ni", "gor", "lam", "zu")


class What(StrEnum):
    SAID = "said in a room"
    CONTEXT = "a shared context"
    BRANCH = "the branch of a session"
    PROJECT = "the project of a session, which is in its name"
    TOPIC = "the topic of a session"
    FOLDER = "the folder of a session"
    SPOKEN = "words in a session"
    ASKED = "a question to a session, or its answer"
    NOTE = "a note to a soul"


class Ear(Value):
    """Who reads something: these people, in a room, with the key of a session of `owner`, or as the admin."""

    place: str
    readers: frozenset[str]
    owner: str = ""


class Canary(Value):
    """A canary: these people may know it wherever they read; besides, it may be shown at `places`, and to `owner`.

    `topic` is what one asks for; `where` the room, key or session that it stands in.
    """

    text: str
    what: What
    where: str
    hearers: frozenset[str]
    places: frozenset[str] = frozenset()
    owner: str = ""
    topic: str = ""

    def known_at(self, ear: Ear) -> bool:
        return ear.readers <= self.hearers or ear.place in self.places or self.owner == ear.owner != ""


@dataclass
class SharedGround:
    """All words so far, and the chance by which more come."""

    chance: Random
    words: list[Canary] = field(default_factory=list)
    shared: dict[str, Canary] = field(default_factory=dict)
    """What stands in each context now."""

    def add(self, what: What, where: str, hearers: frozenset[str], *places: str, owner: str = "") -> Canary:
        topic = "".join(self.chance.choices(_SYLLABLES, k=4)) + str(len(self.words))
        word = Canary(f"canary{len(self.words):05d}", what, where, hearers, frozenset(places), owner, topic)
        self.words.append(word)
        return word

    def said_in(self, room: str) -> Canary:
        return self.chance.choice([one for one in self.words if one.what is What.SAID and one.where == room])

    def shared_with(self, ear: Ear) -> list[Canary]:
        """What the contexts hold now that a room is told of unasked."""
        return [
            one
            for key, one in self.shared.items()
            if CONTEXTS[key] == ear.place or (not CONTEXTS[key] and ear.readers <= MEMBERS)
        ]


def hearers_of(room: str) -> frozenset[str]:
    """Who may read what is said in a room: all members may read a public one."""
    return ROOMS[room] | (MEMBERS if room in _PUBLIC else frozenset())


def room_ear(room: str) -> Ear:
    return Ear(room, hearers_of(room))


def session_ear(name: str, person: str) -> Ear:
    """A session knows what the whole workspace may know, and a guest's no more than the guest may anywhere."""
    return Ear(name, EVERYBODY if person == GUEST else MEMBERS, person)
