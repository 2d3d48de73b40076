"""The kinds, ids and paths of a passport's files, and their times. An id that isn't a plain name is refused."""

import datetime as dt
import hashlib
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from daemon.memory.knowledge.records.kinds import RecordKind
from daemon.memory.mirror_folders import FOLDER

SUFFIX: Final = ".json"
LATEST_MS: Final = 253_402_300_799_999
"""The last moment of the year 9999."""

_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")


class PassportKind(StrEnum):
    """The type of a passport's file, as in its field `type`."""

    EPISODE = "episodic_v3"
    CORE = "core"
    SPHERE = "sphere"
    FACT = "semantic"
    SENSE = "sensory_v1"
    JOURNAL = "journal"
    TURN_USER = "turn_user"
    TURN_LLM = "turn_llm"
    SESSION = "session_memory"
    INTENTION = "intention"
    USER_MODEL = "user_model"
    MODEL_VERSION = "user_model_version"
    MOOD = "soul_state"
    TOPIC = "conversation_topic"
    QUESTION = "standing_question"


FILE_KINDS: Final[Mapping[RecordKind, PassportKind]] = {
    RecordKind.EPISODE: PassportKind.EPISODE,
    RecordKind.CORE: PassportKind.CORE,
    RecordKind.SPHERE: PassportKind.SPHERE,
    RecordKind.FACT: PassportKind.FACT,
    RecordKind.SENSE: PassportKind.SENSE,
    RecordKind.JOURNAL: PassportKind.JOURNAL,
}

_PREFIXES: Final[Mapping[PassportKind, str]] = {
    PassportKind.EPISODE: "EP",
    PassportKind.CORE: "core",
    PassportKind.SPHERE: "sphere",
    PassportKind.FACT: "sem",
    PassportKind.SENSE: "SMEM",
    PassportKind.JOURNAL: "JN",
    PassportKind.TURN_USER: "TU",
    PassportKind.TURN_LLM: "TL",
    PassportKind.SESSION: "SESS",
    PassportKind.INTENTION: "IN",
    PassportKind.USER_MODEL: "UM",
    PassportKind.MODEL_VERSION: "UV",
    PassportKind.MOOD: "MOOD",
    PassportKind.TOPIC: "TOPIC",
    PassportKind.QUESTION: "ASK",
}
_BY_MONTH: Final[Mapping[PassportKind, str]] = {
    PassportKind.EPISODE: "episodes",
    PassportKind.SENSE: "turns/sensory",
    PassportKind.JOURNAL: "journal",
    PassportKind.TURN_USER: "turns/user",
    PassportKind.TURN_LLM: "turns/llm",
    PassportKind.INTENTION: "intentions",
}
_PLAIN: Final[Mapping[PassportKind, str]] = {
    PassportKind.CORE: "core",
    PassportKind.SPHERE: "sphere",
    PassportKind.SESSION: "session",
    PassportKind.USER_MODEL: "people",
    PassportKind.MODEL_VERSION: "people/versions",
    PassportKind.MOOD: "state",
    PassportKind.TOPIC: "state/topics",
    PassportKind.QUESTION: "state/questions",
}
PICTURES: Final = f"{FOLDER}/senses"
"""The folder of the senses' pictures."""

PICTURE_SUFFIX: Final = ".jpg"

_PICTURE: Final = re.compile(r"[0-9a-f]{64}")
_REST: Final = r"(?:_[A-Za-z0-9]{1,16}){1,3}"


def is_id(kind: PassportKind, name: str) -> bool:
    """Return True for an id of the kind: its prefix and up to three short parts."""
    return re.fullmatch(_PREFIXES[kind] + _REST, name, re.ASCII) is not None


def path_of(kind: PassportKind, name: str, at_ms: int, subject: str = "") -> str:
    """Return the path of a file within the passport. Raises ValueError for an invalid id."""
    if not is_id(kind, name):
        raise ValueError("it has no id of its kind")
    if kind in _PLAIN:
        folder = _PLAIN[kind]
    elif kind is PassportKind.FACT:
        folder = f"semantic/{hashlib.sha256(subject.encode('utf-8', 'surrogatepass')).hexdigest()[:2]}"
    else:
        month = dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC).strftime("%Y/%m")
        folder = f"{_BY_MONTH[kind]}/{month}"
    return f"{FOLDER}/{folder}/{name}{SUFFIX}"


def picture_path(digest: str) -> str:
    """Return the path of a picture within the passport, by the SHA-256 of its bytes. Raises ValueError."""
    if not _PICTURE.fullmatch(digest):
        raise ValueError("it is no digest")
    return f"{PICTURES}/{digest[:2]}/{digest}{PICTURE_SUFFIX}"


def as_time(at_ms: int) -> str:
    """Return a moment as in files: UTC, with milliseconds."""
    moment = dt.datetime.fromtimestamp(at_ms // 1000, dt.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03d}Z"


def read_time(text: str) -> int:
    """Return the moment of a text in ms. Without a zone the text is UTC. Raises ValueError."""
    if not _DAY.match(text):
        raise ValueError("it names no moment")
    moment = dt.datetime.fromisoformat(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    at_ms = (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(milliseconds=1)
    if not 0 <= at_ms <= LATEST_MS:
        raise ValueError("it names a moment too long ago or too far ahead")
    return at_ms
