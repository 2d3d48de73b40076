"""Who is present at a shared context, as values: names of members, their state, and what is refused (seed 003)."""

import re
from dataclasses import dataclass
from typing import Final

from daemon.core.contexts import ContextRefused, JSONObject

LARGEST_STATE: Final = 4 * 1024
"""The most bytes that a member's state takes as JSON."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}")
NAME_PATTERN: Final = _NAME.pattern


class MemberTaken(ContextRefused):
    """A member of this name is present from another process; nothing was written."""

    def __init__(self, key: str, member: str) -> None:
        super().__init__(
            f"{member} is present at {key} from another process", hint="give each process a name of its own"
        )


@dataclass(frozen=True, slots=True)
class Member:
    """One member as it is now, from the process that it goes with, or `http`; `seen_ms` is when it last said so."""

    member: str
    process: str
    state: JSONObject
    seen_ms: int


@dataclass(frozen=True, slots=True)
class WorkPlace:
    """Where a member is at work, as the id of a conversation; only those of the audience may know."""

    audience: str
    where: str


def checked_member(text: str) -> str:
    """The text, which is a member's name. Raises ContextRefused."""
    if not _NAME.fullmatch(text):
        raise ContextRefused(
            f"{text[:80]!r} is no name of a member",
            hint="a name has up to 64 of letters, digits and . _ : @ -, and begins with a letter or a digit",
        )
    return text
