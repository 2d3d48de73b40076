"""Redaction of secrets, the log's rules on what is shown, and the list of current failures."""

import datetime as dt
import re
import traceback
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, IntEnum
from functools import lru_cache
from pathlib import PurePath
from typing import Final
from uuid import UUID

from daemon.core.errors import DaemonError
from daemon.core.ports.services import Clock
from daemon.core.tempo import alarm_name
from daemon.core.value import Value

REDACTED = "[redacted]"

_SHORTEST_SECRET = 4  # anything shorter is a word, and removing it would make lines unreadable
_KNOWN_PREFIX = 12  # this many first characters identify a truncated secret

# What may come between two characters of a secret that was wrapped, quoted or shown by repr().
_GAP = (
    r"(?:[\s\u200b-\u200f\u2060\ufeff]"
    r"|\\{1,8}(?:[nrtvf]|x[0-9a-f]{2}|u[0-9a-f]{4})"
    r"|%(?:25){0,3}(?:20|0[9ad])"
    r")*\\{0,8}"
)
_REST_OF_IT = r"[^\s\"'<>&,;)}\]]*"

# Each kind of key with marks that all keys of its kind hold, in small letters: a text without a mark is skipped.
# An address comes last: its password may be a key of another kind.
_KINDS = tuple(
    (marks, re.compile(pattern, re.IGNORECASE))
    for marks, pattern in (
        (("xox", "xapp"), r"(?:xox[a-z]|xapp)(?:\.xox[a-z])?-[\w-]{6,}"),  # Slack tokens
        (("sk-", "pk-", "rk-"), r"\b(?:sk|pk|rk)-[\w-]{12,}"),  # Anthropic, OpenAI, OpenRouter
        (("gsk_",), r"\bgsk_\w{12,}"),  # Groq
        # code hosts and package registries
        (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"\bgh[pousr]_[\w-]{16,}"),
        (("github_pat_", "glpat-", "npm_", "hf_", "pypi-"), r"\b(?:github_pat_|glpat-|npm_|hf_|pypi-)[\w-]{16,}"),
        (("akia", "asia"), r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),  # AWS
        (("aiza",), r"\bAIza[\w-]{30,}"),  # Google
        (("sk_", "pk_", "rk_"), r"\b(?:sk|pk|rk)_(?:live|test)_\w{12,}"),  # Stripe
        (("hooks.slack.com/",), r"hooks\.slack\.com/[\w/-]+"),  # incoming webhooks and workflow triggers
        (("ticket=",), r"(?<=\bticket=)[\w.~%-]+"),  # the key inside a Socket Mode address
        (("bearer",), r"(?<=\bBearer\s)[\w.~+/=-]{8,}"),
        (("://",), r"(?<=://)[^\s/:@]{1,64}:[^\s/@]{3,}(?=@)"),  # user and password in an address
    )
)

_MARKS = re.compile("|".join(re.escape(mark) for marks, _ in _KINDS for mark in marks))

# A JSON Web Token has three parts. A first part alone is matched too, and put back: a text of many such beginnings
# would otherwise be searched to its end from each of them.
_TOKEN = re.compile(r"\beyJ[\w-]{8,}(\.eyJ[\w-]{8,}\.[\w-]{8,})?", re.IGNORECASE)


class Redactor:
    """The replacer of secrets by `[redacted]`. A call never raises and never shows part of a known secret."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._known = _pattern(frozenset(secret.strip() for secret in secrets))

    def __call__(self, text: str) -> str:
        if self._known is not None:
            text = self._known.sub(REDACTED, text)
        return remove_keys(text)


def remove_keys(text: str) -> str:
    """Return a text without anything that looks like a key."""
    small = text.lower()
    if "eyj" in small:
        text = _TOKEN.sub(lambda found: REDACTED if found[1] else found[0], text)
    if _MARKS.search(small):  # rarely so
        for marks, pattern in _KINDS:
            if any(mark in small for mark in marks):
                text = pattern.sub(REDACTED, text)
    return text


@lru_cache(maxsize=16)  # compiling takes some 30 ms, and several parts of a daemon hide the same secrets
def _pattern(secrets: frozenset[str]) -> re.Pattern[str] | None:
    usable = sorted((secret for secret in secrets if len(secret) >= _SHORTEST_SECRET), key=len, reverse=True)
    shapes = [_shape(secret) for secret in usable]
    shapes += [_shape(secret[:_KNOWN_PREFIX]) + _REST_OF_IT for secret in usable if len(secret) > _KNOWN_PREFIX]
    return re.compile("|".join(shapes), re.IGNORECASE) if shapes else None


def _shape(secret: str) -> str:
    """Return a pattern for a secret that may be broken by white space, escaped, or percent-encoded a few times.

    A blank of the secret itself is such a break too: two patterns for one blank would try every way to share a run of
    blanks between them.
    """
    return _GAP.join(_either(char) for char in secret if not char.isspace())


def _either(char: str) -> str:
    plain = "-?" if char == "-" else re.escape(char)  # a UUID is often shown without its hyphens
    encoded = "".join(f"%{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
    return f"(?:{encoded.replace('%', '%(?:25){0,3}')}|{plain})"


class Detail(IntEnum):
    """The log levels (seed 000, "Logging & Debugging")."""

    MINIMAL = 0
    STANDARD = 1
    VERBOSE = 2
    DEBUG = 3


# The figures that seed 000 adds at standard: provider, cost, duration.
_FIGURES = frozenset({"provider", "model", "tokens", "cost", "usd", "ms", "seconds", "duration", "latency"})
# The excerpts that seed 000 adds at verbose, and their length in characters.
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
    """The rules on what is shown of a field, by name and kind. Every returned text is free of secrets."""

    def __init__(self, detail: Detail, redact: Redactor) -> None:
        self._detail = detail
        self._redact = redact

    def fields(self, fields: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        """Yield the fields to show, not yet escaped. Raises what a field's own `__str__` raises."""
        thinking = _plain(fields.get("role", "")) == "thinking"
        for name, value in fields.items():
            words = name.lower().split("_")
            if self._detail < Detail.STANDARD and _FIGURES.intersection(words):
                continue
            text = self._shown(words, value, thinking)
            if text is not None:
                yield name, text

    def error(self, error: BaseException) -> str:
        """Return an exception as text; below debug other libraries' by type and place only: they may quote users."""
        if self._detail == Detail.DEBUG:
            return self._redact("".join(traceback.format_exception(error)).strip())
        return self._redact(_chain(error))

    def library_text(self, text: str) -> str:
        """Return a library's log text. Below debug its first line: the rest is often the repr of user data."""
        text = self._redact(text)
        return text if self._detail == Detail.DEBUG else _cut("".join(text.splitlines()[:1]), _LONGEST_FIELD)

    def name(self, text: str) -> str:
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
        if self._detail < Detail.VERBOSE:
            return None  # before it is searched for secrets: prompts are long
        text = self._redact(_plain(value))
        if word == "prompt":
            return _cut(text, length)
        return None if thinking else _cut(_spoken(text), length)


def _plain(value: object) -> str:
    """Return a scalar, or a value with its own `__str__`, as text; of any other only the type."""
    if isinstance(value, Enum):
        return str(value.value)
    if value is None or isinstance(value, str | int | float | PurePath | UUID | dt.date | dt.timedelta):
        return str(value)
    if isinstance(value, tuple | list | set | frozenset):
        return ",".join(_plain(item) for item in value)
    return str(value) if "__str__" in vars(type(value)) else f"<{type(value).__name__}>"


def _chain(error: BaseException) -> str:
    """Return an exception and its causes, newest first, on one line."""
    links: list[str] = []
    link: BaseException | None = error
    while link is not None and len(links) < _LONGEST_CHAIN:
        links.append(_one_error(link))
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return " < ".join(links)


def _one_error(error: BaseException) -> str:
    """Return an exception: ours and the system's with the reason, a group with members, others by type and place."""
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
    """Return the public part of an answer: the dialogue of a tagged one, a plain one, nothing of a structured one."""
    if response.lstrip().startswith(("{", "[", "```")):
        return ""
    return "".join(_DIALOGUE.findall(response)) if "<" in response else response


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length] + "…"


_LATELY: Final = 3600.0  # seconds for which a failure is shown
_MOST: Final = 20
_FAILING: Final = {"outbox.access_lost": "posting", "backup.failed": "backup"}
_ENDED: Final = {"outbox.sent": "posting", "backup.made": "backup"}
_AGAIN_AND_AGAIN: Final = 3  # failures within that time for an alarm, of work that goes on by itself after one


class _Trouble(Value):
    """The last time, the count, the reason and the alarm of a failure."""

    last: float
    times: int
    why: str
    alarm: str


class RecentErrors:
    """The current failures, read from events. Implements `daemon.core.ports.services.Emit`. Never raises."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, _Trouble] = {}  # by what fails

    def __call__(self, event: str, /, **fields: object) -> None:
        if (what := _ended_by(event, fields)) is not None:
            self._seen.pop(what, None)
        elif (sign := _sign(event, fields)) is not None:
            self._note(*sign)

    def now(self) -> Mapping[str, str]:
        """Return the failures of the last hour with their count and last reason, by what fails."""
        return {name: f"{one.times} times, last: {one.why}" for name, one in self._lately().items()}

    def alarms(self) -> tuple[str, ...]:
        """Return the names of the alarms (`daemon.core.tempo`) that the failures raise."""
        found = [one.alarm for one in self._lately().values() if _is_alarming(one)]
        return tuple(dict.fromkeys(found))

    def _lately(self) -> dict[str, _Trouble]:
        since = self._clock.monotonic() - _LATELY
        return {name: one for name, one in self._seen.items() if one.last >= since}

    def _note(self, name: str, why: str, alarm: str) -> None:
        before = self._seen.pop(name, None)
        times = before.times + 1 if before else 1
        self._seen[name] = _Trouble(self._clock.monotonic(), times, why, alarm)
        while len(self._seen) > _MOST:
            del self._seen[next(iter(self._seen))]


def _is_alarming(trouble: _Trouble) -> bool:
    goes_on = trouble.alarm == "backup" or trouble.alarm.startswith("loop:")
    return trouble.times >= _AGAIN_AND_AGAIN or not goes_on


def _sign(event: str, fields: Mapping[str, object]) -> tuple[str, str, str] | None:
    """Return what fails, why, and the alarm for it. None for an event that reports no failure."""
    reason, model = str(fields.get("reason", "")), str(fields.get("model", ""))
    match event:
        case "loop.failed":
            loop = str(fields.get("loop", ""))
            return loop, reason, alarm_name("loop", loop)
        case "outbox.access_lost" | "backup.failed":
            what = _FAILING[event]
            return what, reason, what
        case "model.stood_in":
            first = str(fields.get("instead_of", ""))
            return first, f"{model} answers instead", alarm_name("model", first)
        case "llm.circuit_opened":
            return model, "it failed several times in a row", alarm_name("model", model)
        case "cap.met" if fields.get("paid_by") == "soul" and not fields.get("background"):
            soul = str(fields.get("soul", ""))
            return f"cap of {soul}", f"${fields.get('usd')} a day is met", alarm_name("budget", soul)
    return None


def _ended_by(event: str, fields: Mapping[str, object]) -> str | None:
    """Return what works again after an event."""
    ended = _ENDED.get(event)
    answered = event == "llm.circuit_closed" or (event == "step.completed" and fields.get("outcome") == "ok")
    return str(fields.get("model", "")) if answered else ended
