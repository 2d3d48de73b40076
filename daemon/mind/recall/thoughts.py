"""The soul's last private thoughts in a conversation, for itself alone and never before wider readers."""

from collections.abc import Mapping, Sequence

from daemon.core.perception import Audience, Readers
from daemon.memory.knowledge.turns import THOUGHT_TURNS
from daemon.memory.records import Turn

MONOLOGUE, READERS = "monologue", "readers"
"""Keys of what is stored privately with a reply: the thought, and who read along when it was thought."""

_SHOWN = 2
_LONGEST = 400  # characters of a thought that is shown again


def thought_for(readers: Readers) -> Mapping[str, object]:
    """What has to be stored with a thought so that `last_thoughts` can tell before whom it may be thought again."""
    kept = {"audience": str(readers.audience), "members_only": readers.members_only}
    rooms = {"rooms": sorted(readers.rooms)} if readers.rooms else {}
    return {READERS: {**kept, **rooms, **({"apart": True} if readers.apart else {})}}


def last_thoughts(turns: Sequence[Turn], readers: Readers) -> tuple[str, ...]:
    """The last two thoughts, oldest first, that came before no narrower readers than these.

    A thought may hold what its readers then were allowed to know: notes of the workspace, earlier talk, also that of
    private rooms which its reader may have left since.
    """
    known = [
        text
        for turn in turns[-THOUGHT_TURNS:]
        if isinstance(text := turn.thought.get(MONOLOGUE), str)
        and text.strip()
        and (then := _readers(turn)) is not None
        and then.audience == readers.audience
        and not readers.exclude_what(then)
    ]
    return tuple(_shortened(text) for text in known[-_SHOWN:])


def _readers(turn: Turn) -> Readers | None:
    stored = turn.thought.get(READERS)
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


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()}…"
