"""Telemetry: events become log lines of `key=value` pairs without secrets (seed 000, "Logging & Debugging")."""

import datetime as dt
import logging
import os
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import IntEnum
from functools import lru_cache
from types import TracebackType
from typing import TextIO

from daemon.core.config import LogLevel
from daemon.core.ports.services import Clock
from daemon.core.telemetry.redaction import Detail, Disclosure, Redactor


class Severity(IntEnum):
    """The severities in syslog's numbers, which are also the journal's line prefixes."""

    ERROR = 3
    WARNING = 4
    NOTICE = 5
    INFO = 6
    DEBUG = 7


# The least detail at which an event is logged, by the longest listed run of its leading words; else standard.
_SHOWN_FROM = {
    "step.completed": Detail.MINIMAL,
    "step": Detail.VERBOSE,
    "daemon": Detail.MINIMAL,
    "slack.duplicate": Detail.VERBOSE,
    "slack.heard": Detail.VERBOSE,
    "heartbeat": Detail.DEBUG,
    "tools.calling": Detail.VERBOSE,
    "memory": Detail.DEBUG,
    "vectors.followed": Detail.VERBOSE,
    "monologue": Detail.DEBUG,
}
# Severity by an event's full name, else by its last word; warnings and errors are logged at every level.
_SEVERITY = {
    **dict.fromkeys(("failed", "crashed", "dead", "died", "broken", "revoked"), Severity.ERROR),
    **dict.fromkeys(("refused", "retried", "lost", "stale", "expired", "abandoned", "unknown"), Severity.WARNING),
    **dict.fromkeys(
        ("unreachable", "unhealthy", "stuck", "silent", "doubt", "reach", "opened", "missing"), Severity.WARNING
    ),
    **dict.fromkeys(("ready", "stopping", "stopped", "connected", "disconnected"), Severity.NOTICE),
    **dict.fromkeys(("slack.call_failed", "job.failed", "outbox.failed", "inbox.failed"), Severity.WARNING),
    **dict.fromkeys(("job.lease_not_renewed", "cycle.lease_not_renewed", "outbox.posted_anew"), Severity.WARNING),
    **dict.fromkeys(
        (f"consolidation.{name}" for name in ("failed", "parked", "stumbled", "waits", "lease_not_renewed")),
        Severity.WARNING,
    ),
    **dict.fromkeys(("vectors.wait", "vectors.damaged", "vectors.unread"), Severity.WARNING),  # full text serves
    "vectors.chroma_failed": Severity.WARNING,  # its folder is rebuilt
    "outbox.access_lost": Severity.ERROR,  # nothing can be posted until an admin acts
    "cycle.silent_unasked": Severity.INFO,  # an unasked thought rarely has anything to say
    # Only a courtesy failed: the reply itself is unharmed.
    **dict.fromkeys(("slack.cards_refused", "slack.status_failed", "slack.speech_silent"), Severity.INFO),
}
MOST_RECORDS = 60
"""Records of one library that are logged within a minute, at most."""
_MINUTE = 60.0
_MOST_NAMES = 500  # bounds memory where a name is made from data
_LIBRARIES = (
    *("slack_bolt", "slack_sdk", "aiohttp", "httpx", "httpx2", "httpcore"),
    *("anthropic", "openai", "apscheduler", "mcp", "client"),
)


class Telemetry:
    """The writer of events as log lines. Implements `Emit` and replaces the standard library's logging.

    `stream` gets one line per event. `secrets` are removed wherever they appear. `journal_stream` is the variable
    JOURNAL_STREAM: if it names `stream`, lines carry the journal's priority prefix instead of a time.
    """

    def __init__(
        self, level: LogLevel, stream: TextIO, secrets: Iterable[str], clock: Clock, journal_stream: str = ""
    ) -> None:
        self._detail = Detail[level.upper()]
        self._disclosure = Disclosure(self._detail, Redactor(secrets))
        self._stream = stream
        self._clock = clock
        self._in_journal = _is_journal(stream, journal_stream)
        self._name_of = lru_cache(_MOST_NAMES)(lambda event: _escape(self._disclosure.name(event)))

    def __call__(self, event: str, /, **fields: object) -> None:
        """Log an event if the level includes it. Never raises."""
        with self._never_raising():
            name = self._name_of(event)
            severity = _severity(name, fields)
            if severity <= Severity.WARNING or self._detail >= _shown_from(name):
                self._write(severity, name, self._disclosure.fields(fields))

    def install(self) -> Callable[[], None]:
        """Log the standard library's records and uncaught exceptions as events too. Return a function that undoes it.

        Libraries log from WARNING on, at the level debug from INFO on, and never at DEBUG: there the Slack client
        prints whole frames with users' words.
        """
        floor = logging.INFO if self._detail == Detail.DEBUG else logging.WARNING
        loggers = [logging.getLogger(), *(logging.getLogger(name) for name in _LIBRARIES)]
        before = [(logger, logger.level, logger.handlers[:]) for logger in loggers]
        hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
        for logger in loggers:
            logger.setLevel(floor)
            logger.handlers[:] = []
        loggers[0].addHandler(_LibraryHandler(self, floor, self._clock))
        sys.excepthook = self._uncaught
        threading.excepthook = lambda crash: self("thread.crashed", error=crash.exc_value)
        sys.unraisablehook = lambda crash: self("finalizer.crashed", error=crash.exc_value)

        def undo() -> None:
            for logger, level, handlers in before:
                logger.setLevel(level)
                logger.handlers[:] = handlers
            sys.excepthook, threading.excepthook, sys.unraisablehook = hooks

        return undo

    def library(self, record: logging.LogRecord) -> None:
        """Log a record of the standard library's logging. Never raises."""
        with self._never_raising():
            fields = [
                ("logger", self._disclosure.name(record.name)),
                ("said", self._disclosure.library_text(_message(record))),
            ]
            if record.exc_info and record.exc_info[1] is not None:
                fields.append(("error", self._disclosure.error(record.exc_info[1])))
            self._write(_severity_of(record), "library", fields)

    @contextmanager
    def _never_raising(self) -> Iterator[None]:
        """Suppress errors: a field whose repr raises, or a closed stream, must not stop the caller."""
        try:
            yield
        except Exception:  # noqa: BLE001  # see above
            with suppress(Exception):
                self._write(Severity.WARNING, "telemetry.lost", ())

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
        """Log the main thread's last exception. Ctrl-C is no fault and keeps its usual form."""
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
        else:
            self("daemon.crashed", error=error)


class _LibraryHandler(logging.Handler):
    """The handler that passes records on. Its floor holds even if a library lowers its logger's level.

    At most MOST_RECORDS of a library within a minute, then a count of the rest: a library repeats what others send.
    """

    def __init__(self, telemetry: Telemetry, floor: int, clock: Clock) -> None:
        super().__init__(floor)
        self._telemetry = telemetry
        self._clock = clock
        self._minute = 0.0
        self._counts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        now, library = self._clock.monotonic(), record.name.partition(".")[0]
        if now - self._minute >= _MINUTE:
            for name, count in self._counts.items():
                if count > MOST_RECORDS:
                    self._telemetry("library.records_lost", library=name, number=count - MOST_RECORDS)
            self._counts.clear()
            self._minute = now
        self._counts[library] += 1
        if self._counts[library] <= MOST_RECORDS:
            self._telemetry.library(record)


def _is_journal(stream: TextIO, journal_stream: str) -> bool:
    """Return true if systemd connected a stream to its journal. The variable is `device:inode`."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return journal_stream == f"{status.st_dev}:{status.st_ino}"


def _shown_from(event: str) -> Detail:
    words = event.split(".")
    leading = (".".join(words[:count]) for count in range(len(words), 0, -1))
    return next((_SHOWN_FROM[name] for name in leading if name in _SHOWN_FROM), Detail.STANDARD)


def _severity(event: str, fields: Mapping[str, object]) -> Severity:
    last = re.split(r"[._]", event)[-1]
    severity = _SEVERITY.get(event, _SEVERITY.get(last, Severity.INFO))
    failed = any(isinstance(value, BaseException) for value in fields.values())
    return min(severity, Severity.WARNING) if failed else severity


def _severity_of(record: logging.LogRecord) -> Severity:
    if record.levelno < logging.WARNING:
        return Severity.INFO
    return Severity.WARNING if record.levelno < logging.ERROR else Severity.ERROR


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):
        return str(record.msg)


def _escape(text: str) -> str:
    """Return printable characters only: no line breaks, ANSI sequences, bidirectional or invisible marks."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def _quoted(text: str) -> str:
    """Return a logfmt value: bare if that is unambiguous, else in double quotes with backslash escapes."""
    if text.isprintable() and text and not set(text) & set(' "=\\'):
        return text
    return '"' + _escape(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'
