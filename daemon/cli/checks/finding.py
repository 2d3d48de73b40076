"""One thing that was looked at, how it is, and how to mend it."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How it is; `skip` could not be looked at."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Finding:
    """`found` says what is there, `fix` the command or step that mends it."""

    name: str
    verdict: Verdict
    found: str
    fix: str = ""


def ok(name: str, found: str) -> Finding:
    """As it should be."""
    return Finding(name, Verdict.OK, found)


def warn(name: str, found: str, fix: str) -> Finding:
    """It works, but somebody should know."""
    return Finding(name, Verdict.WARN, found, fix)


def fail(name: str, found: str, fix: str) -> Finding:
    """It won't work."""
    return Finding(name, Verdict.FAIL, found, fix)


def skip(name: str, found: str) -> Finding:
    """It could not or need not be looked at."""
    return Finding(name, Verdict.SKIP, found)
