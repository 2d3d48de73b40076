"""What souls and people share, in the prompt's region `shared_context`: data, each key with its version and age."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from daemon.core.contexts import ContextState, JSONObject
from daemon.core.notes import SharedMessage
from daemon.core.text import one_line, shortened
from daemon.core.timetable import moment
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.soul_engine import SHARED_CONTEXT

_LONGEST_LINE: Final = 300  # characters
_DEEPEST: Final = 4


def with_shared(
    memory: WorkingMemory, contexts: Sequence[ContextState], sent: Sequence[SharedMessage] = ()
) -> WorkingMemory:
    """Put the contexts that hold anything, and the soul's own notes to others, as notes; a model sees them fenced."""
    notes = [Memory(Role.USER, "\n".join(lines_of(one.data)), name=_about(one)) for one in contexts if one.data]
    own = [Memory(Role.USER, shortened(one_line(one.words), _LONGEST_LINE), name=_sent(one)) for one in sent]
    return memory.with_region(SHARED_CONTEXT, *notes, *own)


def lines_of(data: JSONObject, depth: int = 0) -> Iterator[str]:
    """Data in plain lines, `name: value`, what is nested further in; never raw JSON."""
    for name, value in data.items():
        label = "  " * depth + shortened(one_line(str(name)), _LONGEST_LINE)
        if isinstance(value, Mapping) and value and depth < _DEEPEST:
            yield f"{label}:"
            yield from lines_of(value, depth + 1)
        else:
            yield shortened(f"{label}: {_plain(value)}", _LONGEST_LINE)


def _plain(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value)) or "none"
    if isinstance(value, Mapping):
        return "; ".join(f"{one_line(str(name))} {_plain(one)}" for name, one in value.items()) or "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "nothing" if value is None else one_line(str(value))


def _sent(one: SharedMessage) -> str:
    """To whom a note went and what became of it, the reason included, which is the daemon's own sentence."""
    became = f"{one.state}: {one.reason}" if one.reason else one.state
    return f"your note to {one.addressee} of {moment(one.created_ms)}, {became}"


def _about(one: ContextState) -> str:
    return f"{one.key}, shared, version {one.version} of {moment(one.updated_ms)}"
