"""What a thought does with memory, as parts that take effect where it is stored (seed 002, *Motor*)."""

from typing import Final

from daemon.memory.mind.remembering import KnownOutcome, NotedInThought
from daemon.memory.queues.remembering import Journaled, Remembered
from daemon.memory.thought_parts import ThoughtPart
from daemon.mind.expecting import weighed
from daemon.mind.moment import Moment
from daemon.mind.thought import CognitiveOutput
from daemon.mind.thought.cognitive_output import MemoryOp

_NOTED: Final = ("write_episodic", "write_semantic")
_JOURNAL: Final = "journal"
_USUAL_SIGNIFICANCE: Final = 5
_FIELD: Final = "memory_ops"


def wants_noting(output: CognitiveOutput) -> bool:
    """Whether a thought finds something worth remembering."""
    return any(one.type in _NOTED for one in output.memory_ops)


def remembering_parts(moment: Moment, output: CognitiveOutput) -> tuple[ThoughtPart, ...]:
    """What a thought notes, and what it looked up or will look up."""
    tone = output.emotional_state.felt_quality
    notes = tuple(_note(one, tone, moment) for one in output.memory_ops if one.type in (*_NOTED, _JOURNAL))
    looks = sum(one.type == "retrieve" for one in output.memory_ops)
    return (
        *((NotedInThought(notes),) if notes else ()),
        *((KnownOutcome(_FIELD, looks),) if looks else ()),
    )


def _note(one: MemoryOp, tone: str, moment: Moment) -> Remembered | Journaled:
    kind = Journaled if one.type == _JOURNAL else Remembered
    significance = weighed(one.significance or _USUAL_SIGNIFICANCE, moment.surprise)
    return kind(one.content, significance, one.tags, tone)
