"""Values of senses: sources of events, and readings pushed by programs (seed 003)."""

import base64
import hashlib
import hmac
import re
from enum import StrEnum
from typing import Final, NewType

from daemon.core.errors import DaemonError
from daemon.core.perception import ConversationKey
from daemon.core.value import Value

NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
"""The pattern of a source's name."""

ROOM: Final = re.compile(r"[CG][A-Z0-9]{1,23}")
"""The pattern of a channel's id."""

SECRET_FILE: Final = "events.key"  # noqa: S105  # a file's name
"""The file in the home folder from which the secrets of all sources are derived."""

SOURCE_PARAM: Final = "source"
"""The param of an event's perception that holds the id of its source."""

FROM_PARAM: Final = "from"
"""The param of an event's perception that holds the name of its source."""

LONGEST: Final = 4_000
"""Characters that are kept of an event, at most."""

LATELY_MS: Final = 24 * 3_600_000
"""Milliseconds for which an event is shown when the soul speaks in its room."""

_PREFIX: Final = "whsec_"


class Signing(StrEnum):
    """The signing schemes of sources: standardwebhooks.com's, or GitHub's."""

    STANDARD = "standard"
    GITHUB = "github"


class TooManyEvents(DaemonError):
    """Raised when a source sent too many events in a minute. Nothing was stored."""


class OtherEvent(DaemonError):
    """Raised when an event with this id came before, with other words. Nothing was stored."""


class SourceEnded(DaemonError):
    """Raised when the source has been ended. Nothing was stored."""


class EventSource(Value):
    """A program whose events one soul hears in one room.

    `wakes`: the soul looks at each event and may speak. Otherwise the soul only knows of events when it speaks there.
    `events` counts them, `heard_ms` is the time of the newest.
    """

    id: str
    name: str
    soul: str
    workspace: str
    room: str
    signing: Signing
    wakes: bool
    created_ms: int
    ended_ms: int | None = None
    heard_ms: int | None = None
    events: int = 0

    @property
    def conversation(self) -> ConversationKey:
        return ConversationKey(self.soul, self.workspace, self.room)


class SourceEvent(Value):
    """The event of a source: its words and time (ms)."""

    source: str
    words: str
    at_ms: int


def secret_of(master: str, source: str) -> str:
    """Return the secret of the source with this id, in the form of standardwebhooks.com. The secret is never stored."""
    made = hmac.digest(master.encode(), f"event source {source}".encode(), hashlib.sha256)
    return f"{_PREFIX}{base64.b64encode(made).decode()}"


def signing_key(secret: str, signing: Signing) -> bytes:
    """Return the key of signatures: the decoded secret, for GitHub its text."""
    return secret.encode() if signing is Signing.GITHUB else base64.b64decode(secret.removeprefix(_PREFIX))


class HouseSense(StrEnum):
    """The daemon's own senses, for readings and percepts. No program may use one of these names."""

    AUTHORITY = "authority"  # a function of the mind got another level
    AWAKENING = "awakening"
    DAEMON = "daemon"  # the program in which the soul lives
    DECISION = "decision"
    DELETION = "deletion"  # a message that the soul had answered was deleted
    EDIT = "edit"
    FEEDBACK = "feedback"
    GOAL = "goal"  # a goal of the soul's own was closed
    HOST = "host"  # the machine on which the soul lives
    INTERNAL = "internal"
    LANGUAGE = "language"
    LIBRARY = "library"
    MOTOR = "motor"
    RESULT = "result"
    TEMPORAL = "temporal"
    TIME = "time"


ProgramSense = NewType("ProgramSense", str)
"""The name of a program's sense, checked to be none of the daemon's own."""


CHANNEL: Final = r"[CG][A-Z0-9]{1,23}"
PERSON: Final = r"[UW][A-Z0-9]{1,23}"
THREAD: Final = r"[0-9]{1,16}\.[0-9]{1,9}"
"""The pattern of the ts of a thread's first message."""

READING_ID: Final = r"[A-Za-z0-9_.:-]{1,128}"

MOST_A_MINUTE: Final = 60
"""Readings per token or source in a minute, at most."""

MOST_THREADS: Final = 3
"""Threads of a channel in which one reading is perceived, at most."""


class PushedReading(Value):
    """A reading as a program sends it. `room` is a channel or a person, `thread` the ts of a thread, '' for none.

    `soul` perceives it in `workspace`. `source` is the token or secret it came with, `id` the sender's own. `ends`: the
    source may have been ended.
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
        return re.fullmatch(PERSON, self.room) is not None


class TooManyReadings(DaemonError):
    """Raised when too many readings came in a minute. Nothing was stored."""


class OtherReading(DaemonError):
    """Raised when a reading with this id came before, with other words. Nothing was stored."""


class NowhereToPerceive(DaemonError):
    """Raised when the soul has no such conversation. Nothing was stored."""
