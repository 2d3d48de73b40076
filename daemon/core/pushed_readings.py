"""What a program tells a soul's senses: no answer is due."""

import re
from dataclasses import dataclass
from typing import Final

from daemon.core.errors import DaemonError
from daemon.core.house_senses import ProgramSense

CHANNEL: Final = r"[CG][A-Z0-9]{1,23}"
PERSON: Final = r"[UW][A-Z0-9]{1,23}"
THREAD: Final = r"[0-9]{1,16}\.[0-9]{1,9}"
"""The ts of a thread's first message."""

READING_ID: Final = r"[A-Za-z0-9_.:-]{1,128}"

MOST_A_MINUTE: Final = 60
"""Readings with one token or from one source in a minute."""

MOST_THREADS: Final = 3
"""In how many threads of a channel one reading is perceived."""


@dataclass(frozen=True, slots=True)
class PushedReading:
    """A reading as a program sends it: `room` is a channel or a person, `thread` the ts of one, '' for none.

    `soul` and `workspace` say who perceives it; `source` is whose token or secret it came with, which gave it `id`.
    `ends`: the source may be ended meanwhile.
    """

    soul: str
    workspace: str
    source: str
    id: str
    sense: ProgramSense
    words: str
    room: str
    thread: str = ""
    ends: bool = False

    @property
    def to_person(self) -> bool:
        """Whether it goes into a person's direct messages."""
        return re.fullmatch(PERSON, self.room) is not None


class TooManyReadings(DaemonError):
    """Too many readings came in a minute; nothing was stored."""


class OtherReading(DaemonError):
    """A reading with this id came before, with other words; nothing was stored."""


class NowhereToPerceive(DaemonError):
    """The soul has no such conversation; nothing was stored."""
