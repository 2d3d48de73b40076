"""Decides which of an event's fields a log level shows: figures, excerpts, errors; private words at debug only."""

import datetime as dt
import re
import traceback
from collections.abc import Iterator, Mapping
from enum import Enum, IntEnum
from pathlib import PurePath
from uuid import UUID

from daemon.core.errors import DaemonError
from daemon.core.telemetry.redaction import Redactor


class Detail(IntEnum):
    """Log levels (seed 000, "Logging & Debugging")."""

    MINIMAL = 0
    STANDARD = 1
    VERBOSE = 2
    DEBUG = 3


# What seed 000 adds at standard: provider, cost, duration.
_FIGURES = frozenset({"provider", "model", "tokens", "cost", "usd", "ms", "seconds", "duration", "latency"})
# What it adds at verbose, and how many characters of it.
_EXCERPTS = {"prompt": 200, "response": 500, "reply": 500}
# Shown at debug only: words of users and models, and what the soul thinks and remembers.
_OF_USERS = {"person", "email", "display", "said", "words", "text", "utterance", "title", "topic", "question", "query"}
_OF_MESSAGES = {
    "message",
    "messages",
    "body",
    "blocks",
    "content",
    "draft",
    "envelope",
    "payload",
    "quote",
    "transcript",
}
_OF_TOOLS = {"args", "arguments", "input", "output", "result", "row", "answer", "description"}
_OF_THE_MIND = {
    *("monologue", "thought", "thoughts", "whisper", "whispers", "journal", "notes", "summary", "system"),
    "because",  # the reason for leaving a mental process: it may quote a user
}
_OF_MEMORY = {"memory", "memories", "region", "regions", "turn", "turns", "dump"}
_PRIVATE = frozenset(_OF_USERS | _OF_MESSAGES | _OF_TOOLS | _OF_THE_MIND | _OF_MEMORY)
_POINTERS = frozenset({"id", "ids", "ts", "key", "kind"})  # `message_ts` names a message without quoting it
_LONGEST_FIELD = 200
_LONGEST_CHAIN = 6
_DIALOGUE = re.compile(
    r"<external_dialog(?:ue)?\b[^>]*>(.*?)(?:</external_dialog(?:ue)?>|\Z)", re.DOTALL | re.IGNORECASE
)


class Disclosure:
    """Decides by name and kind what is shown of a field; every text it returns is free of secrets."""

    def __init__(self, detail: Detail, redact: Redactor) -> None:
        self._detail = detail
        self._redact = redact

    def fields(self, fields: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        """The fields to show, their text not yet escaped. Raises what a field's own `__str__` raises."""
        thinking = _plain(fields.get("role", "")) == "thinking"
        for name, value in fields.items():
            words = name.lower().split("_")
            if self._detail < Detail.STANDARD and _FIGURES.intersection(words):
                continue
            text = self._shown(words, value, thinking)
            if text is not None:
                yield name, text

    def error(self, error: BaseException) -> str:
        """An exception; below debug, other libraries' are shown by type and place only, since they may quote users."""
        if self._detail == Detail.DEBUG:
            return self._redact("".join(traceback.format_exception(error)).strip())
        return self._redact(_chain(error))

    def library_text(self, text: str) -> str:
        """A library's log text; below debug its first line, since the rest is often the repr of user data."""
        text = self._redact(text)
        return text if self._detail == Detail.DEBUG else _cut("".join(text.splitlines()[:1]), _LONGEST_FIELD)

    def name(self, text: str) -> str:
        """The name of an event or a logger."""
        return _cut(self._redact(text), _LONGEST_FIELD)

    def _shown(self, words: list[str], value: object, thinking: bool) -> str | None:
        if isinstance(value, BaseException):
            return self.error(value)
        if value is None or isinstance(value, bool | int | float):
            return _plain(value)
        if self._detail == Detail.DEBUG:
            return self._redact(value if isinstance(value, str) else repr(value))
        for word, length in _EXCERPTS.items():
            if word in words:
                return self._excerpt(word, value, length, thinking)
        private = _PRIVATE.intersection(words) and words[-1] not in _POINTERS
        return None if private else _cut(self._redact(_plain(value)), _LONGEST_FIELD)

    def _excerpt(self, word: str, value: object, length: int, thinking: bool) -> str | None:
        """The beginning of a prompt or of a reply; nothing of the thinking role's answers, which are private."""
        if self._detail < Detail.VERBOSE:
            return None  # before it is searched for secrets: prompts are long
        text = self._redact(_plain(value))
        if word == "prompt":
            return _cut(text, length)
        return None if thinking else _cut(_spoken(text), length)


def _plain(value: object) -> str:
    """A value as text: scalars and types with their own `__str__`; of any other only its type."""
    if isinstance(value, Enum):
        return str(value.value)
    if value is None or isinstance(value, str | int | float | PurePath | UUID | dt.date | dt.timedelta):
        return str(value)
    if isinstance(value, tuple | list | set | frozenset):
        return ",".join(_plain(item) for item in value)
    return str(value) if "__str__" in vars(type(value)) else f"<{type(value).__name__}>"


def _chain(error: BaseException) -> str:
    """An exception and its causes, newest first, on one line."""
    links: list[str] = []
    link: BaseException | None = error
    while link is not None and len(links) < _LONGEST_CHAIN:
        links.append(_one_error(link))
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return " < ".join(links)


def _one_error(error: BaseException) -> str:
    """One exception: ours and the system's with their reason, a group with its members, any other by type and place."""
    kind = type(error).__name__
    if isinstance(error, DaemonError):
        return f"{kind}: {_cut(str(error), _LONGEST_FIELD)}"
    if isinstance(error, BaseExceptionGroup):
        return f"{kind}[{'; '.join(_chain(inner) for inner in error.exceptions[:_LONGEST_CHAIN])}]"
    reason = f": {error.strerror}" if isinstance(error, OSError) and error.strerror else ""
    frames = traceback.extract_tb(error.__traceback__)[-_LONGEST_CHAIN:]
    places = " > ".join(f"{PurePath(frame.filename).name}:{frame.lineno}" for frame in frames)
    return f"{kind}{reason}{' at ' + places if places else ''}"


def _spoken(response: str) -> str:
    """The public part of a model's answer: a tagged answer's dialogue, a plain answer, nothing of a structured one."""
    if response.lstrip().startswith(("{", "[", "```")):
        return ""
    return "".join(_DIALOGUE.findall(response)) if "<" in response else response


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length] + "…"
