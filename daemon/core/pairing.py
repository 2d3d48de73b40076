"""Pairing: a machine shows a code, its owner writes that to the soul, and a click gives the machine a key."""

import re
import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from daemon.core.errors import DaemonError
from daemon.core.initiative import INVITING, NO, YES
from daemon.core.sessions import Visibility
from daemon.core.value import Value

LIVES_MS: Final = 10 * 60_000
"""Milliseconds for which a code may be typed and decided on."""

FETCH_MS: Final = 5 * 60_000
"""Milliseconds that the machine has to fetch its key after the click."""

TRIES: Final = 5
"""Wrong tries that kill a code, and wrong codes after which a user waits for up to LIVES_MS."""

MOST_OPEN: Final = 20
"""Codes of a workspace that no user has typed yet, at most."""

MOST_A_MINUTE: Final = 10
"""Codes that a workspace gives out in a minute."""

BUTTON: Final = "pairing-"
"""The prefix of the id of an approval that gives a machine its key."""

MOST_OF_ONE: Final = 3
"""The divisor of these limits for a single asker: each may take a third."""

LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"
"""The letters of a code: no vowels, which avoids words (RFC 8628, section 6.1)."""

CODE: Final = re.compile(rf"[{LETTERS}]{{4}}-[{LETTERS}]{{4}}")


class KeyRights(Value):
    """The rights of a key: who sees its sessions, whether texts may be kept, and whether the DM is known."""

    visibility: Visibility = Visibility.PROJECT
    remember: bool = False
    direct: bool = False


CHOICES: Final[Mapping[str, KeyRights]] = MappingProxyType(
    {
        "pair_project": KeyRights(),
        "pair_hidden": KeyRights(Visibility.HIDDEN),
        "pair_keeps": KeyRights(Visibility.TOPIC, remember=True),
        "pair_knows": KeyRights(Visibility.TOPIC, remember=True, direct=True),
    }
)
"""The rights that a user may choose for a machine, by button, most careful first. An admin can make any other key."""


class PairingState(StrEnum):
    OPEN = "open"
    ASKED = "asked"
    ALLOWED = "allowed"
    REFUSED = "refused"
    FETCHED = "fetched"
    DEAD = "dead"


class TooManyCodes(DaemonError):
    """Raised when further codes are refused for now."""


class NoSuchCode(DaemonError):
    """Raised when a code doesn't exist, is over, or was begun by another machine."""


class PairingOver(DaemonError):
    """Raised when a code gives no key any more."""


class Begun(Value):
    """A code for a user, and the secret with which the machine fetches the key. Only hashes of both are stored."""

    code: str
    secret: str
    soul: str
    until_ms: int


class Paired(Value):
    """A user's new key with its rights. The key itself is known only now."""

    key: str
    person: str
    name: str
    rights: KeyRights


def answers_to(approval: str) -> tuple[str, ...]:
    """Return the answers to a request for permission, in the order of the buttons."""
    if approval.startswith(INVITING):
        return YES, NO
    return (*CHOICES, "refuse") if approval.startswith(BUTTON) else ("approve", "refuse")


def handle(person: str, project: str) -> str:
    """Return a session's name before it is numbered, such as `ada-api`: the person's first name and the project."""
    return "-".join((_slug(person.partition(" ")[0]) or "person", _slug(project) or "session"))


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(one if one.isalnum() or unicodedata.category(one)[0] == "M" else "-" for one in plain)
    return re.sub("-+", "-", kept).strip("-")[:30].rstrip("-")
