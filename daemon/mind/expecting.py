"""What a thought expects, as it is stored, and what a surprise does to what the thought remembers."""

from typing import Final

from daemon.core.expectations import Check
from daemon.core.tempo import SURPRISING
from daemon.core.timeframes import timeframe
from daemon.memory.expectations.predictions import NewPrediction, PredictionsMade
from daemon.memory.thought_parts import ThoughtPart
from daemon.mind.moment import Moment
from daemon.mind.thought import CognitiveOutput
from daemon.mind.thought.cognitive_output import Prediction

_WEIGHS: Final = 2
_MOST_SIGNIFICANT: Final = 10


def expected_of(moment: Moment, output: CognitiveOutput) -> tuple[ThoughtPart, ...]:
    """The expectations of a thought, with the moments until which they last."""
    found = tuple(_new(one, moment) for one in output.predictions)
    return (PredictionsMade(found),) if found else ()


def weighed(significance: int, surprise: float) -> int:
    """How significant (1 to 10) what is remembered is, with the surprise of the moment."""
    if surprise < SURPRISING:
        return significance
    return min(_MOST_SIGNIFICANT, significance + _WEIGHS)


def _new(one: Prediction, moment: Moment) -> NewPrediction:
    said = one.check
    check = Check("none") if said is None else Check(said.kind, said.who, said.words, said.id, said.name)
    until = timeframe(one.timeframe, moment.now_ms, moment.zone)
    return NewPrediction(one.what, one.confidence, one.timeframe, until, check)
