"""Ids of what stands before a thought, by which it is followed when its words change, go, or are for fewer people.

Turns, records, notes and thoughts have ids of their own; what has none is named here.
"""

from collections.abc import Mapping
from typing import Final

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers

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


INNER: Final = "inner"
"""The channel of that conversation, of which a soul has one in each workspace."""


def inner_room(soul: str, workspace: str) -> ConversationKey:
    """The inner room of a soul in a workspace."""
    return ConversationKey(soul, workspace, INNER)


def is_inner(conversation: ConversationKey) -> bool:
    """Whether a conversation is an inner room: no person reads or speaks there."""
    return conversation.channel == INNER


def kept_readers(readers: Readers) -> Mapping[str, object]:
    """The readers as JSON values, as `read_readers` reads them back."""
    kept = {"audience": str(readers.audience), "members_only": readers.members_only}
    rooms = {"rooms": sorted(readers.rooms)} if readers.rooms else {}
    return {**kept, **rooms, **({"apart": True} if readers.apart else {})}


def read_readers(stored: object) -> Readers | None:
    """What `kept_readers` gave; None for anything else."""
    if not isinstance(stored, Mapping):
        return None
    rooms = stored.get("rooms")
    try:
        return Readers(
            Audience.parse(str(stored.get("audience"))),
            members_only=stored.get("members_only") is True,
            rooms=frozenset(map(str, rooms)) if isinstance(rooms, list) else frozenset(),
            apart=stored.get("apart") is True,
        )
    except ValueError:
        return None


def may_think_again(readers: Readers, then: Readers | None) -> bool:
    """Whether a thought of the same conversation may be thought again: it came before no narrower readers than these.

    A thought may hold what its readers then were allowed to know: notes of the workspace, earlier talk, also that of
    private rooms which its reader may have left since.
    """
    return then is not None and then.audience == readers.audience and not readers.exclude_what(then)


def may_think_here(readers: Readers, then: Readers | None) -> bool:
    """Whether a thought of another conversation may be: its audience is the same, or the whole workspace.

    Before readers who aren't all members none is. A session hears none of what else was thought before its audience.
    """
    if then is None or not readers.members_only or not then.rooms <= readers.rooms:
        return False
    return then.audience.kind is AudienceKind.WORKSPACE or (then.audience == readers.audience and not readers.apart)
