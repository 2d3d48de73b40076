"""Values of senses: shared contexts, sources of events, and readings pushed by programs (seed 003)."""

import base64
import hashlib
import hmac
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NewType

from daemon.core.errors import DaemonError
from daemon.core.perception import Audience, AudienceKind, ConversationKey

KEY: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
LARGEST: Final = 16 * 1024
"""Bytes of a context's data as JSON, at most."""

SOULS: Final = "souls"
"""The key at which daemons show what their souls do. Nothing else is written there."""

OPERATOR: Final = "operator"
"""The author of what the admin wrote."""

JSONObject = Mapping[str, object]


class ContextRefused(DaemonError):
    """Raised when a value does not fit, is too large, or its writer may not write it. Nothing was written."""


class ContextConflict(DaemonError):
    """Raised when the context was changed by another writer. Nothing was written. `found` is its state now."""

    def __init__(self, found: "ContextState") -> None:
        super().__init__(
            f"{found.key} was changed meanwhile; its version is {found.version}", hint="look at it and try again"
        )
        self.found = found


@dataclass(frozen=True, slots=True)
class ContextState:
    """The current state of a shared context. One that was never written is version 0, with no data and no author.

    `audience` may read it. `writers` are names of souls, empty for all of this memory.db; the admin always may write.
    `updated_ms` is 0 before the first change.
    """

    key: str
    version: int
    data: JSONObject
    audience: Audience
    writers: tuple[str, ...] = ()
    author: str = ""
    updated_ms: int = 0


@dataclass(frozen=True, slots=True)
class ContextVersion:
    """One version of a context's data: its author and time.

    `redacted`: words of a person who was forgotten since were taken out.
    """

    version: int
    data: JSONObject
    author: str
    at_ms: int
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class Writer:
    """The writer of a change: a soul's name or OPERATOR. `audience` may know all that the writer does.

    `most` limits the contexts that the writer owns; None for no limit.
    """

    name: str
    audience: Audience
    most: int | None = None


ADMIN: Final = Writer(OPERATOR, Audience(AudienceKind.OPERATOR, ""))


def checked_key(text: str) -> str:
    """Return the text if it is a valid key. Raises ContextRefused."""
    if not KEY.fullmatch(text):
        raise ContextRefused(
            f"{text[:80]!r} is no key of a shared context",
            hint="a key has up to 64 of a-z, 0-9, dot, hyphen and underscore, and begins with a letter or a digit",
        )
    return text


def as_stored(data: object, most: int = LARGEST) -> str:
    """Return data as stored JSON of at most `most` bytes, keys sorted. Raises ContextRefused otherwise."""
    if not isinstance(data, Mapping):
        raise ContextRefused(f"the data is {_kind(data)}, and has to be an object", hint="write {…}")
    _require_json(data, "")
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, sort_keys=True)
    if (size := len(text.encode("utf-8", "surrogatepass"))) > most:
        raise ContextRefused(f"the data takes {size} bytes; {most} are the most", hint="store less, or in several keys")
    return text


def merged(data: JSONObject, changes: JSONObject) -> JSONObject:
    """Return the data with a JSON merge patch applied (RFC 7396)."""
    kept = {name: value for name, value in data.items() if changes.get(name, ...) is not None}
    for name, value in changes.items():
        if isinstance(value, dict):
            before = data.get(name)
            kept[name] = merged(before if isinstance(before, dict) else {}, value)
        elif value is not None:
            kept[name] = value
    return kept


_DEEPEST: Final = 32
_WIDEST: Final = 13_000  # bits; readers of JSON refuse numbers of more than 4,300 digits


def _require_json(value: object, path: str, depth: int = 0) -> None:
    where = path.lstrip("/")[:80] or "the data"
    if depth > _DEEPEST:
        raise ContextRefused(f"{where} is nested more than {_DEEPEST} deep", hint="make it flatter")
    if isinstance(value, Mapping):
        for name, one in value.items():
            if not isinstance(name, str):
                raise ContextRefused(f"a name in {where} is {_kind(name)}", hint="names are texts")
            _require_leaf(name, f"a name in {where}")
            _require_json(one, f"{path}/{name}", depth + 1)
    elif isinstance(value, list | tuple):
        for number, one in enumerate(value):
            _require_json(one, f"{path}/{number}", depth + 1)
    else:
        _require_leaf(value, where)


def _require_leaf(value: object, where: str) -> None:
    if isinstance(value, str):
        if _LONE.search(value):
            raise ContextRefused(f"{where} holds half of a character", hint="write whole Unicode characters")
    elif isinstance(value, int) and value.bit_length() > _WIDEST:
        raise ContextRefused(f"{where} is a number of thousands of digits", hint="write it as a text")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ContextRefused(f"{where} is {value}, which JSON can't hold", hint="use a finite number or null")
    elif value is not None and not isinstance(value, int | float):
        raise ContextRefused(
            f"{where} is {_kind(value)}, which JSON can't hold", hint="use texts, numbers, lists, objects"
        )


_LONE: Final = re.compile(r"[\ud800-\udfff]")


def _kind(value: object) -> str:
    names = {
        str: "a text",
        bool: "true or false",
        int: "a number",
        float: "a number",
        list: "a list",
        type(None): "null",
    }
    return names.get(type(value), f"a {type(value).__name__}")


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


@dataclass(frozen=True, slots=True)
class EventSource:
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


@dataclass(frozen=True, slots=True)
class SourceEvent:
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


@dataclass(frozen=True, slots=True)
class PushedReading:
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
