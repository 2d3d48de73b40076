"""One finding of `soul doctor`: what was checked, its verdict and its fix."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The result of a check; `skip` means not checked."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Finding:
    """`found` says what the check saw, `fix` the command or step that helps."""

    name: str
    verdict: Verdict
    found: str
    fix: str = ""


def ok(name: str, found: str) -> Finding:
    """Nothing to do."""
    return Finding(name, Verdict.OK, found)


def warn(name: str, found: str, fix: str) -> Finding:
    """The daemon works, but the admin should know."""
    return Finding(name, Verdict.WARN, found, fix)


def fail(name: str, found: str, fix: str) -> Finding:
    """The daemon can't work like this."""
    return Finding(name, Verdict.FAIL, found, fix)


def skip(name: str, found: str) -> Finding:
    """Not checked, or nothing to check."""
    return Finding(name, Verdict.SKIP, found)
