"""Which parts of a thought take effect where it is stored: one function for each field, in the order of the thought."""

from collections.abc import Callable
from typing import Final

from daemon.memory.stream.parts import ThoughtPart
from daemon.mind.mental_process import ProcessContext
from daemon.mind.steps.think import Considered

PartsOf = Callable[[ProcessContext, Considered], tuple[ThoughtPart, ...]]

_KINDS: Final[tuple[PartsOf, ...]] = ()


def parts_of(context: ProcessContext, thought: Considered) -> tuple[ThoughtPart, ...]:
    """What of a thought takes effect beside its speech and its memories, as far as the house's checks let it then."""
    return tuple(part for of_field in _KINDS for part in of_field(context, thought))
