"""Programs that may report to a soul in one room: builds, monitors, forges; as values."""

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from daemon.core.errors import DaemonError
from daemon.core.perception import ConversationKey

NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
"""What a source may be called."""

ROOM: Final = re.compile(r"[CG][A-Z0-9]{1,23}")
"""The id of a channel."""

SECRET_FILE: Final = "events.key"  # noqa: S105  # a file's name
"""The file in the home folder that holds what the secrets of all sources are made of."""

SOURCE_PARAM: Final = "source"
"""The param of an event's perception that holds the id of its source."""

FROM_PARAM: Final = "from"
"""The param of an event's perception that holds the name of its source."""

LONGEST: Final = 4_000
"""The most characters that are kept of an event."""

LATELY_MS: Final = 24 * 3_600_000
"""For so long an event is shown when the soul speaks in its room."""

_PREFIX: Final = "whsec_"


class Signing(StrEnum):
    """How a source signs: as standardwebhooks.com says, or as GitHub does."""

    STANDARD = "standard"
    GITHUB = "github"


class TooManyEvents(DaemonError):
    """A source sent too many events in a minute; nothing was stored."""


class OtherEvent(DaemonError):
    """An event with this id came before, with other words; nothing was stored."""


class SourceEnded(DaemonError):
    """The source was ended meanwhile; nothing was stored."""


@dataclass(frozen=True, slots=True)
class EventSource:
    """A program that one soul hears in one room.

    `wakes`: the soul looks at each event and may speak; else it only has it in mind when it speaks there anyway.
    `events` counts its events, `heard_ms` is when the newest came.
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
        """Where its events are perceived: the room itself, in no thread."""
        return ConversationKey(self.soul, self.workspace, self.room)


@dataclass(frozen=True, slots=True)
class SourceEvent:
    """An event of a source: the words, and when they came (ms)."""

    source: str
    words: str
    at_ms: int


def secret_of(master: str, source: str) -> str:
    """The secret of the source with this id, in the form of standardwebhooks.com; nothing of it is stored."""
    made = hmac.digest(master.encode(), f"event source {source}".encode(), hashlib.sha256)
    return f"{_PREFIX}{base64.b64encode(made).decode()}"


def signing_key(secret: str, signing: Signing) -> bytes:
    """What signatures are made with: the decoded secret, for GitHub its text."""
    return secret.encode() if signing is Signing.GITHUB else base64.b64decode(secret.removeprefix(_PREFIX))
