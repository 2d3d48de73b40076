"""What a thought is woken by."""

from typing import Final

from daemon.core.perception import Modality, Perception

_OCCASIONS: Final = {Modality.TIME: "due", Modality.DECISION: "result", Modality.NOTE: "sense", Modality.EVENT: "sense"}
_END_OF_VISIT: Final = "exiting"


def occasion_of(perception: Perception) -> str:
    """The occasion of a thought about a perception, one of `daemon.memory.stream.new_thought.OCCASIONS`."""
    if perception.modality is Modality.TIME and perception.process == _END_OF_VISIT:
        return "visit_end"
    return _OCCASIONS.get(perception.modality, "words")
