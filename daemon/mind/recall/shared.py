"""What souls and people share, in the prompt's region `shared_context`: data, each key with its version and age."""

from collections.abc import Sequence
from typing import Final

from daemon.core.contexts import ContextState
from daemon.core.event_sources import SourceEvent
from daemon.core.lineage import context_id, saw
from daemon.core.notes import SharedMessage
from daemon.core.plain_lines import plain_lines
from daemon.core.text import one_line, shortened
from daemon.core.timetable import moment
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.soul_engine import SHARED_CONTEXT

_LONGEST_LINE: Final = 300  # characters
_LONGEST_EVENT: Final = 600


def with_shared(
    memory: WorkingMemory,
    contexts: Sequence[ContextState],
    sent: Sequence[SharedMessage] = (),
    events: Sequence[SourceEvent] = (),
) -> WorkingMemory:
    """Put the contexts that hold anything, the soul's own notes to others, and the events of programs in the room.

    All as notes; a model sees them fenced.
    """
    notes = [
        Memory(Role.USER, "\n".join(plain_lines(one.data)), name=_about(one), metadata=saw(context_id(one.key)))
        for one in contexts
        if one.data
    ]
    own = [
        Memory(Role.USER, shortened(one_line(one.words), _LONGEST_LINE), name=_sent(one), metadata=saw(one.id))
        for one in sent
    ]
    heard = [  # of this very room, and no user takes them back
        Memory(Role.USER, shortened(one.words, _LONGEST_EVENT), name=_program(one), metadata=saw()) for one in events
    ]
    return memory.with_region(SHARED_CONTEXT, *notes, *own, *heard)


def _sent(one: SharedMessage) -> str:
    """To whom a note went and what became of it, the reason included, which is the daemon's own sentence."""
    became = f"{one.state}: {one.reason}" if one.reason else one.state
    return f"your note to {one.addressee} of {moment(one.created_ms)}, {became}"


def _about(one: ContextState) -> str:
    return f"{one.key}, shared, version {one.version} of {moment(one.updated_ms)}"


def _program(one: SourceEvent) -> str:
    return f"from the program {one.source}, in this room, of {moment(one.at_ms)}"
