"""What a thought is woken by."""

from collections.abc import Mapping
from typing import Final

from daemon.core.perception import Modality, Perception
from daemon.core.tempo import KINDS, OCCASION, REFLECTING
from daemon.memory.stream.new_thought import Occasion

_OCCASIONS: Final[Mapping[Modality, Occasion]] = {
    Modality.TIME: "due",
    Modality.DECISION: "result",
    Modality.NOTE: "sense",
    Modality.EVENT: "sense",
    Modality.SENSE: "sense",
}
_END_OF_VISIT: Final = "exiting"


def occasion_of(perception: Perception) -> Occasion:
    """The occasion of a thought about a perception; a tick names its own."""
    if perception.process == REFLECTING:
        return next((kind for kind in KINDS if kind == perception.params.get(OCCASION)), "due")
    if perception.modality is Modality.TIME and perception.process == _END_OF_VISIT:
        return "visit_end"
    return _OCCASIONS.get(perception.modality, "words")
