"""The soul's last private thoughts in a conversation, for itself alone and never before wider readers."""

from collections.abc import Mapping, Sequence

from daemon.core.perception import Readers
from daemon.core.thought_readers import kept_readers, may_think_again, read_readers
from daemon.memory.knowledge.turns import THOUGHT_TURNS
from daemon.memory.records import Turn

MONOLOGUE, READERS = "monologue", "readers"
"""Keys of what is stored privately with a reply: the thought, and who read along when it was thought."""

DEGRADED = "degraded"
"""The key that says that a whole thought was asked for, and none could be read."""

_SHOWN = 2
_LONGEST = 400  # characters of a thought that is shown again


def thought_for(readers: Readers) -> Mapping[str, object]:
    """What has to be stored with a thought so that `last_thoughts` can tell before whom it may be thought again."""
    return {READERS: kept_readers(readers)}


def last_thoughts(turns: Sequence[Turn], readers: Readers) -> tuple[str, ...]:
    """The last two thoughts, oldest first, that came before no narrower readers than these (`may_think_again`)."""
    known = [
        text
        for turn in turns[-THOUGHT_TURNS:]
        if isinstance(text := turn.thought.get(MONOLOGUE), str)
        and text.strip()
        and may_think_again(readers, read_readers(turn.thought.get(READERS)))
    ]
    return tuple(_shortened(text) for text in known[-_SHOWN:])


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()}…"
