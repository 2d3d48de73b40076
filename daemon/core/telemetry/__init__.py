"""Named events become log lines at minimal, standard, verbose or debug; secrets are cut out by value.

Callers say what happened, never whether or how it is shown: that is decided here and in `disclosure` (seed 000,
"Logging & Debugging"). One event is one line of `key=value` pairs in which every character is printable.
"""

import datetime as dt
import logging
import os
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from types import TracebackType
from typing import Protocol, TextIO

from daemon.core.config import LogLevel
from daemon.core.telemetry.disclosure import Detail, Discretion
from daemon.core.telemetry.redaction import Redactor


class Severity(IntEnum):
    """How bad it is, in syslog's numbers, which are also the journal's line prefixes."""

    ERROR = 3
    WARNING = 4
    NOTICE = 5
    INFO = 6
    DEBUG = 7


class WallClock(Protocol):
    """The part of a Clock that log lines need."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""


# From which detail on an event is logged; the longest run of leading words listed decides, else standard.
_SHOWN_FROM = {
    "step.completed": Detail.MINIMAL,
    "step": Detail.VERBOSE,
    "daemon": Detail.MINIMAL,
    "slack.duplicate": Detail.VERBOSE,
    "slack.heard": Detail.VERBOSE,
    "memory": Detail.DEBUG,
    "monologue": Detail.DEBUG,
}
# How bad an event is; a warning or worse is logged at every level. Its full name decides, else its last word.
_SEVERITY = {
    **dict.fromkeys(("failed", "crashed", "dead", "died", "broken"), Severity.ERROR),
    **dict.fromkeys(("refused", "retried", "lost", "stale", "expired", "abandoned", "unknown"), Severity.WARNING),
    **dict.fromkeys(
        ("unreachable", "unhealthy", "stuck", "silent", "doubt", "reach", "opened", "missing"), Severity.WARNING
    ),
    **dict.fromkeys(("ready", "stopping", "stopped", "connected", "disconnected"), Severity.NOTICE),
    **dict.fromkeys(("slack.call_failed", "job.failed", "cycle.lease_not_renewed"), Severity.WARNING),
    **dict.fromkeys(
        ("slack.cards_refused", "slack.status_failed", "slack.speech_silent"), Severity.INFO
    ),  # a courtesy, nothing else, fell away
}
_MOST_EVENT_NAMES = 1000  # a name made from data must not eat the memory
_LIBRARIES = (
    *("slack_bolt", "slack_sdk", "aiohttp", "httpx", "httpx2", "httpcore"),
    *("anthropic", "openai", "apscheduler", "mcp", "client"),
)


class Telemetry:
    """The one subscriber to all events; implements `Emit` and takes over the standard library's logging.

    `stream` takes one line an event. `secrets` are cut out wherever they appear. `journal_stream` is the variable
    JOURNAL_STREAM: where it names `stream`, lines carry the journal's priority prefix instead of a time.
    """

    def __init__(
        self, level: LogLevel, stream: TextIO, secrets: Iterable[str], clock: WallClock, journal_stream: str = ""
    ) -> None:
        self._detail = Detail[level.upper()]
        self._discretion = Discretion(self._detail, Redactor(secrets))
        self._stream = stream
        self._clock = clock
        self._in_journal = _is_journal(stream, journal_stream)
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, event: str, /, **fields: object) -> None:
        """Count an event and log it if the level asks for that. Never raises."""
        try:
            name = _escape(self._discretion.name(event))
            self._count(name)
            severity = _severity(name, fields)
            if severity <= Severity.WARNING or self._detail >= _shown_from(name):
                self._write(severity, name, self._discretion.fields(fields))
        except Exception:  # noqa: BLE001  # a field whose repr raises, a closed stream: telling must not stop the teller
            self._count("telemetry.lost")

    def counts(self) -> Mapping[str, int]:
        """How often each event happened since the start, whether it was logged or not."""
        with self._lock:
            return dict(self._counts)

    def install(self) -> Callable[[], None]:
        """Send the standard library's logging and uncaught exceptions through here too; the result undoes it.

        Libraries are heard from WARNING on, at the level debug from INFO on, and never at DEBUG: there the Slack client
        prints whole frames with people's words in them.
        """
        floor = logging.INFO if self._detail == Detail.DEBUG else logging.WARNING
        loggers = [logging.getLogger(), *(logging.getLogger(name) for name in _LIBRARIES)]
        before = [(logger, logger.level, logger.handlers[:]) for logger in loggers]
        hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
        for logger in loggers:
            logger.setLevel(floor)
            logger.handlers[:] = []
        loggers[0].addHandler(_LibraryHandler(self.library, floor))
        sys.excepthook = self._uncaught
        threading.excepthook = lambda told: self("thread.crashed", error=told.exc_value)
        sys.unraisablehook = lambda told: self("finalizer.crashed", error=told.exc_value)

        def undo() -> None:
            for logger, level, handlers in before:
                logger.setLevel(level)
                logger.handlers[:] = handlers
            sys.excepthook, threading.excepthook, sys.unraisablehook = hooks

        return undo

    def library(self, record: logging.LogRecord) -> None:
        """Log a record of the standard library's logging. Never raises."""
        try:
            severity = _severity_of(record)
            self._count(f"library.{severity.name.lower()}")
            said = [
                ("logger", self._discretion.name(record.name)),
                ("said", self._discretion.remark(_message(record))),
            ]
            if record.exc_info and record.exc_info[1] is not None:
                said.append(("error", self._discretion.error(record.exc_info[1])))
            self._write(severity, "library", said)
        except Exception:  # noqa: BLE001  # as above
            self._count("telemetry.lost")

    def _count(self, name: str) -> None:
        with self._lock:
            known = name in self._counts or len(self._counts) < _MOST_EVENT_NAMES
            self._counts[name if known else "telemetry.other"] += 1

    def _write(self, severity: Severity, event: str, fields: Iterable[tuple[str, str]]) -> None:
        pairs = " ".join(f"{re.sub(r'[^A-Za-z0-9_.]', '_', name)}={_quoted(text)}" for name, text in fields)
        line = f"event={_quoted(event)} {pairs}".rstrip()
        if self._in_journal:
            line = f"<{severity.value}>{line}\n"
        else:
            moment = dt.datetime.fromtimestamp(self._clock.now_ms() / 1000, dt.UTC).isoformat(timespec="milliseconds")
            line = f"{moment.removesuffix('+00:00')}Z {severity.name.lower()} {line}\n"
        try:
            self._stream.write(line)
        except UnicodeEncodeError:
            self._stream.write(line.encode("ascii", "backslashreplace").decode("ascii"))
        self._stream.flush()

    def _uncaught(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """The main thread's last exception; an interrupt from the keyboard is no fault and keeps its usual form."""
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
        else:
            self("daemon.crashed", error=error)


class _LibraryHandler(logging.Handler):
    """Hands over records; the floor holds even where a library lowers the level of its own logger."""

    def __init__(self, take: Callable[[logging.LogRecord], None], floor: int) -> None:
        super().__init__(floor)
        self._take = take

    def emit(self, record: logging.LogRecord) -> None:
        self._take(record)


def _is_journal(stream: TextIO, journal_stream: str) -> bool:
    """Whether a stream is the one that systemd connected to its journal; the variable says `device:inode`."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return journal_stream == f"{status.st_dev}:{status.st_ino}"


def _shown_from(event: str) -> Detail:
    """The detail from which on an event is logged."""
    words = event.split(".")
    leading = (".".join(words[:count]) for count in range(len(words), 0, -1))
    return next((_SHOWN_FROM[name] for name in leading if name in _SHOWN_FROM), Detail.STANDARD)


def _severity(event: str, fields: Mapping[str, object]) -> Severity:
    """As bad as the table says, and at least a warning when an exception comes with it."""
    last = re.split(r"[._]", event)[-1]
    severity = _SEVERITY.get(event, _SEVERITY.get(last, Severity.INFO))
    failed = any(isinstance(value, BaseException) for value in fields.values())
    return min(severity, Severity.WARNING) if failed else severity


def _severity_of(record: logging.LogRecord) -> Severity:
    if record.levelno < logging.WARNING:
        return Severity.INFO
    return Severity.WARNING if record.levelno < logging.ERROR else Severity.ERROR


def _message(record: logging.LogRecord) -> str:
    """The record's text, or its bare format where a library's format and arguments disagree."""
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):
        return str(record.msg)


def _escape(text: str) -> str:
    """Printable characters only: no line breaks, no ANSI sequences, no bidirectional or invisible marks."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def _quoted(text: str) -> str:
    """A logfmt value: bare where that is unambiguous, else in double quotes with backslash escapes."""
    if text.isprintable() and text and not set(text) & set(' "=\\'):
        return text
    return '"' + _escape(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'
