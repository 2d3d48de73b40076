"""Shared contexts as values: their keys, the state of one, and what is refused (seed 003)."""

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
"""The most bytes that a context's data takes as JSON."""

SOULS: Final = "souls"
"""The key at which daemons show what their souls do; nothing else is written there."""

OPERATOR: Final = "operator"
"""The author of what the admin wrote."""

JSONObject = Mapping[str, object]


class ContextRefused(DaemonError):
    """A value that may not be written: it doesn't fit, is too large, or its writer may not; nothing was written."""


class ContextConflict(DaemonError):
    """The context was changed meanwhile; nothing was written. `found` is its state now."""

    def __init__(self, found: "ContextState") -> None:
        super().__init__(
            f"{found.key} was changed meanwhile; its version is {found.version}", hint="look at it and try again"
        )
        self.found = found


@dataclass(frozen=True, slots=True)
class ContextState:
    """A shared context as it is now. One that was never written is version 0, with no data and no author.

    `audience` may read it. `writers` are names of souls, none for all of this memory.db; the admin always may write.
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
    """One version of a context's data: who wrote it and when.

    `redacted`: it held words of a person who was forgotten since, which were taken out.
    """

    version: int
    data: JSONObject
    author: str
    at_ms: int
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes: a soul's name or OPERATOR, and who may hear what it knows where it writes from.

    It begins no context while `most` are its own, None for no bound.
    """

    name: str
    audience: Audience
    most: int | None = None


ADMIN: Final = Writer(OPERATOR, Audience(AudienceKind.OPERATOR, ""))
"""The admin, who may write every context."""


def checked_key(text: str) -> str:
    """The text, which is a key. Raises ContextRefused."""
    if not KEY.fullmatch(text):
        raise ContextRefused(
            f"{text[:80]!r} is no key of a shared context",
            hint="a key has up to 64 of a-z, 0-9, dot, hyphen and underscore, and begins with a letter or a digit",
        )
    return text


def as_stored(data: object, most: int = LARGEST) -> str:
    """The JSON under which data is stored, keys sorted. Raises ContextRefused for what is no finite JSON object.

    It takes `most` bytes.
    """
    if not isinstance(data, Mapping):
        raise ContextRefused(f"the data is {_kind(data)}, and has to be an object", hint="write {…}")
    _require_json(data, "")
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, sort_keys=True)
    if (size := len(text.encode("utf-8", "surrogatepass"))) > most:
        raise ContextRefused(f"the data takes {size} bytes; {most} are the most", hint="store less, or in several keys")
    return text


def merged(data: JSONObject, changes: JSONObject) -> JSONObject:
    """The data with a JSON merge patch applied (RFC 7396)."""
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


class HouseSense(StrEnum):
    """The names of the house's own senses, with which it keeps readings and gives percepts; no program may use one."""

    AUTHORITY = "authority"  # a function of the mind got another level
    AWAKENING = "awakening"
    DAEMON = "daemon"  # the program in which it lives
    DECISION = "decision"
    DELETION = "deletion"  # a message that it had answered was deleted
    EDIT = "edit"
    FEEDBACK = "feedback"
    GOAL = "goal"  # a goal of its own was closed
    HOST = "host"  # the machine on which it lives
    INTERNAL = "internal"
    LANGUAGE = "language"
    LIBRARY = "library"
    MOTOR = "motor"
    RESULT = "result"
    TEMPORAL = "temporal"
    TIME = "time"


ProgramSense = NewType("ProgramSense", str)
"""The name of a sense as a program gives it, once it was found to be none of the house's."""


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
        return re.fullmatch(PERSON, self.room) is not None


class TooManyReadings(DaemonError):
    """Too many readings came in a minute; nothing was stored."""


class OtherReading(DaemonError):
    """A reading with this id came before, with other words; nothing was stored."""


class NowhereToPerceive(DaemonError):
    """The soul has no such conversation; nothing was stored."""
