"""Ids of a thought's sources, by which the thought follows their edits, deletions and narrower audiences."""

from collections.abc import Mapping
from typing import Final

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers

SAW: Final = "saw"
"""The key in a memory's metadata of the ids of its sources outside its own conversation."""

MESSAGE: Final = "MS_"
"""The prefix of the id of a platform's message."""

UNFOLLOWED: Final = "??"
"""The prefix of the id of untraceable words: a thought that saw them is not stored with its own words."""

_BETWEEN: Final = "\n"  # ids hold paths, but no line ends


def saw(*ids: str) -> dict[str, str]:
    """Return the metadata of a memory with these source ids. Without ids its words are the conversation's own."""
    return {SAW: _BETWEEN.join(sorted({one for one in ids if one}))}


def ids_in(noted: str) -> frozenset[str]:
    return frozenset(filter(None, noted.split(_BETWEEN)))


def message_id(workspace: str, channel: str, ts: str) -> str:
    """Return the id of a platform's message, whether or not any soul stores it as a turn."""
    return f"{MESSAGE}{workspace}/{channel}/{ts}"


def author_id(workspace: str, person: str) -> str:
    """Return the id of what a user wrote or set outside of turns. Empty without a user."""
    return f"BY_{workspace}/{person}" if person else ""


def model_id(soul: str, workspace: str, person: str, audience: Audience | str) -> str:
    """Return the id of a soul's guesses about a user, made in conversations with one audience."""
    return f"UM_{soul}/{workspace}/{person}/{audience}"


def context_id(key: str) -> str:
    return f"SC_{key}"


def way_id(workspace: str, channel: str) -> str:
    """Return the id of what the managers of a channel ask of the soul there."""
    return f"RW_{workspace}/{channel}"


def question_id(workspace: str, channel: str) -> str:
    """Return the id of the soul's open questions in a channel."""
    return f"SQ_{workspace}/{channel}"


def goal_id(soul: str, name: str) -> str:
    """Return the id of an admin's goal for a soul. A goal of a thought is followed by that thought's id."""
    return f"GL_{soul}/{name}"


def room_id(workspace: str, channel: str) -> str:
    """Return the id of a channel's name, for a thought that names the channel elsewhere."""
    return f"CH_{workspace}/{channel}"


def session_id(session: str) -> str:
    """Return the id of a session's place and task."""
    return f"SE_{session}"


def document_id(path: str) -> str:
    return f"LF_{path}"


INNER: Final = "inner"
"""The channel id of the inner room, of which a soul has one in each workspace."""


def inner_room(soul: str, workspace: str) -> ConversationKey:
    return ConversationKey(soul, workspace, INNER)


def is_inner(conversation: ConversationKey) -> bool:
    """Return true for an inner room: no user reads or speaks there."""
    return conversation.channel == INNER


def kept_readers(readers: Readers) -> Mapping[str, object]:
    """Return the readers as JSON values for `read_readers`."""
    kept = {"audience": str(readers.audience), "members_only": readers.members_only}
    rooms = {"rooms": sorted(readers.rooms)} if readers.rooms else {}
    return {**kept, **rooms, **({"apart": True} if readers.apart else {})}


def read_readers(stored: object) -> Readers | None:
    """Read the output of `kept_readers`. None for anything else."""
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
    """Return true if a thought of the same conversation may be used again: its readers were no narrower than these.

    A thought may hold all that its readers could know: notes of the workspace, earlier talk, and private rooms that its
    reader may have left since.
    """
    return then is not None and then.audience == readers.audience and not readers.exclude_what(then)


def may_think_here(readers: Readers, then: Readers | None) -> bool:
    """Return true if a thought of another conversation may be used: same audience, or the whole workspace.

    Never before readers who aren't all members. A session gets none of the other thoughts for its audience.
    """
    if then is None or not readers.members_only or not then.rooms <= readers.rooms:
        return False
    return then.audience.kind is AudienceKind.WORKSPACE or (then.audience == readers.audience and not readers.apart)
