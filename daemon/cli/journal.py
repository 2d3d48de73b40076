"""Reads a service's journal by the program journalctl, one entry after the other."""

import datetime as dt
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from daemon.cli.unit import ServiceUnit
from daemon.core.errors import ConfigError
from daemon.core.telemetry import Severity

_LONGEST_COMPLAINT: Final = 300
_WAIT_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A line of the log: when (ms), how severe, and its text; `fields` are the pairs of an event."""

    at_ms: int
    severity: Severity
    text: str
    fields: dict[str, str]

    def __str__(self) -> str:
        """The form that the log has on a terminal."""
        moment = dt.datetime.fromtimestamp(self.at_ms / 1000, dt.UTC).isoformat(timespec="milliseconds")
        return f"{moment.removesuffix('+00:00')}Z {self.severity.name.lower()} {self.text}"


@contextmanager
def journal_of(unit: ServiceUnit, since_ms: int, *, follow: bool) -> Iterator[Iterator[LogEntry]]:
    """The entries of a service's log since a time, oldest first; with `follow` also those to come.

    Raises ConfigError where there is no journalctl, and when it may not be read.
    """
    program = shutil.which("journalctl")
    if program is None:
        raise ConfigError("there is no journalctl on this machine", hint="read the log where systemd writes it")
    where = ["--unit"] if unit.of_the_system else ["--user", "--unit"]
    command = [program, *where, unit.path.name, "--output=json", "--no-pager", f"--since=@{since_ms // 1000}"]
    reader = subprocess.Popen(  # noqa: S603  # a fixed program and bounded arguments, without a shell
        [*command, "--follow", "--no-tail"] if follow else command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    assert reader.stdout is not None
    assert reader.stderr is not None
    try:
        yield _entries(reader.stdout)
        complaint = reader.stderr.read().strip()
        if reader.wait(_WAIT_S):
            raise ConfigError(f"journalctl: {complaint[:_LONGEST_COMPLAINT]}", hint=f"sudo {unit.program} logs")
    finally:
        reader.stdout.close()  # what still writes ends by that, also where it may not be signalled
        reader.stderr.close()
        _end(reader)


def _end(reader: subprocess.Popen[str]) -> None:
    if reader.poll() is None:
        try:
            reader.terminate()
            reader.wait(_WAIT_S)
        except (PermissionError, subprocess.TimeoutExpired):
            return  # root's program, after this process became the service's account: its next line ends it


def _entries(lines: Iterator[str]) -> Iterator[LogEntry]:
    for line in lines:
        try:
            found = json.loads(line)
            text, at_ms = _text(found["MESSAGE"]), int(found["__REALTIME_TIMESTAMP"]) // 1000
            severity = Severity(min(max(int(found.get("PRIORITY", 6)), Severity.ERROR), Severity.DEBUG))
        except (ValueError, KeyError, TypeError):
            continue  # an entry without words
        yield LogEntry(at_ms, severity, text, fields_in(text))


def _text(message: object) -> str:
    """A message; the journal gives bytes as numbers where they are no plain text."""
    return bytes(message).decode("utf-8", "replace") if isinstance(message, list) else str(message)


def fields_in(line: str) -> dict[str, str]:
    """The `key=value` pairs of an event's line; empty for a line of any other kind."""
    found, rest = dict[str, str](), line
    while rest:
        name, equals, rest = rest.partition("=")
        if not equals or " " in name:
            break
        value, rest = _value(rest)
        found[name] = value
    return found if "event" in found else {}


def _value(text: str) -> tuple[str, str]:
    """The value at the beginning of a text, and what follows it."""
    if not text.startswith('"'):
        value, _, rest = text.partition(" ")
        return value, rest
    value, at = "", 1
    while at < len(text) and text[at] != '"':
        at += text[at] == "\\"
        value += text[at : at + 1]
        at += 1
    return value, text[at + 2 :]
