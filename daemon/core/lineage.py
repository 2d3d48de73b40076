"""Ids of what stands before a thought, by which it is followed when its words change, go, or are for fewer people.

Turns, records, notes and thoughts have ids of their own; what has none is named here.
"""

from typing import Final

from daemon.core.perception import Audience

SAW: Final = "saw"
"""The key in a memory's metadata of the ids by which its words are followed beyond their own conversation."""

MESSAGE: Final = "MS_"
"""How the id of a platform's message begins."""

UNFOLLOWED: Final = "??"
"""How the id begins that stands for words which nothing follows: no thought that saw them is stored with its own."""

_BETWEEN: Final = "\n"  # ids hold paths, but no line ends


def saw(*ids: str) -> dict[str, str]:
    """The metadata of a memory whose words have these ids; without any they are the conversation's own."""
    return {SAW: _BETWEEN.join(sorted({one for one in ids if one}))}


def ids_in(noted: str) -> frozenset[str]:
    """The ids that `saw` noted."""
    return frozenset(filter(None, noted.split(_BETWEEN)))


def message_id(workspace: str, channel: str, ts: str) -> str:
    """A message of a platform, whether or not any soul has it as a turn."""
    return f"{MESSAGE}{workspace}/{channel}/{ts}"


def author_id(workspace: str, person: str) -> str:
    """What a person wrote or set that is no turn; empty where no person did."""
    return f"BY_{workspace}/{person}" if person else ""


def model_id(soul: str, workspace: str, person: str, audience: Audience | str) -> str:
    """What a soul guesses about a person from conversations with one audience."""
    return f"UM_{soul}/{workspace}/{person}/{audience}"


def context_id(key: str) -> str:
    """What stands in a shared context."""
    return f"SC_{key}"


def way_id(workspace: str, channel: str) -> str:
    """What those who manage a channel ask of the soul there."""
    return f"RW_{workspace}/{channel}"


def question_id(workspace: str, channel: str) -> str:
    """What a soul has wondered about in a channel."""
    return f"SQ_{workspace}/{channel}"


def goal_id(soul: str, name: str) -> str:
    """What an admin gave a soul to do, by the goal's name; a goal of a thought goes with that thought."""
    return f"GL_{soul}/{name}"


def room_id(workspace: str, channel: str) -> str:
    """The name of a channel, where it is told elsewhere."""
    return f"CH_{workspace}/{channel}"


def session_id(session: str) -> str:
    """Where a session works, and at what."""
    return f"SE_{session}"


def document_id(path: str) -> str:
    """A file of the admin's library."""
    return f"LF_{path}"
