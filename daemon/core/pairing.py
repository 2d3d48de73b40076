"""Pairing: a machine shows a code, its owner writes that to the soul, and a click gives the machine a key."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from daemon.core.errors import DaemonError
from daemon.core.initiative import INVITING, NO, YES
from daemon.core.sessions import Visibility

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


@dataclass(frozen=True, slots=True)
class KeyRights:
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


@dataclass(frozen=True, slots=True)
class Begun:
    """A code for a user, and the secret with which the machine fetches the key. Only hashes of both are stored."""

    code: str
    secret: str
    soul: str
    until_ms: int


@dataclass(frozen=True, slots=True)
class Paired:
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


SENTENCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "pair_project": "Project only",
        "pair_project_label": "Pair: others see project and branch, nothing is kept",
        "pair_hidden": "Hidden",
        "pair_hidden_label": "Pair: others see nothing, nothing is kept",
        "pair_keeps": "Topic, and keep",
        "pair_keeps_label": "Pair: others see the topic, and I keep what it asks",
        "pair_knows": "And our messages",
        "pair_knows_label": "Pair: the same, and it knows our direct messages",
        "pair_asks": "A machine asks for a key of yours, for the sessions of Claude Code there. It calls itself:",
        "pair_beware": "Choose one only if you began this yourself just now, and the code is on your own screen.",
        "pair_choose_project": "*Project only*: others see project, branch and state of its sessions. I keep nothing "
        "of them, and they know nothing of our direct messages.",
        "pair_choose_hidden": "*Hidden*: the same, and others don't see that its sessions are there.",
        "pair_choose_keeps": "*Topic, and keep*: others see the topic, too, and I keep for you what its sessions ask "
        "me to.",
        "pair_choose_knows": "*And our messages*: the same, and its sessions know what was said in our direct "
        "messages.",
        "pair_done": "The machine fetches its key now, within five minutes. Its sessions are yours from then on, "
        "until you end the key with *end my keys* (*my keys* shows them), or an admin revokes `{id}`.",
        "pair_not_done": "The machine gets no key, and the code is dead.",
        "pair_unknown": "I know of no such code, or it is over. Begin again on the machine, and write me the code that "
        "it shows then.",
        "pair_too_many": "Those were too many wrong codes. Wait ten minutes, then begin again on the machine.",
        "pair_taken": "Another person has written me this code before. It is dead now: begin again on the machine, and "
        "keep its code to yourself.",
        "pair_in_dm": "Others read here, so that code is dead. Begin again on the machine, and write me its code in a "
        "direct message.",
        "keys_head": "These machines have a key of yours, for the sessions of Claude Code there:",
        "keys_line": "{number}. {machine}: made {made}, used last {used}",
        "keys_unused": "{number}. {machine}: made {made}, never used",
        "keys_unnamed": "a machine whose name I don't know",
        "keys_how": "*end key {number}* ends that one at once, *end my keys* ends all of them.",
        "keys_none": "No machine has a key of yours.",
        "keys_ended": "Key {number} is ended, that of {machine}. Its sessions hear and bring me nothing more.",
        "keys_all_ended": "All your keys are ended ({count}). Their sessions hear and bring me nothing more, until you "
        "pair their machines anew.",
        "keys_no_number": "There is no key {number} of yours that is in force. *my keys* shows those that are.",
        "keys_in_dm": "Others read here. Say that to me in a direct message.",
        "keys_in_slack": "Only people ask for their keys, and they do it in a direct message in Slack.",
        "pair_in_slack": "Only people pair a machine, and they do it in a direct message in Slack.",
    }
)
"""The sentences of pairing, a part of the table in `core.sentences`."""


def handle(person: str, project: str) -> str:
    """Return a session's name before it is numbered, such as `ada-api`: the person's first name and the project."""
    return "-".join((_slug(person.partition(" ")[0]) or "person", _slug(project) or "session"))


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(one if one.isalnum() or unicodedata.category(one)[0] == "M" else "-" for one in plain)
    return re.sub("-+", "-", kept).strip("-")[:30].rstrip("-")
