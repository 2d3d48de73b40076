"""How a thought moves the soul, as the part that takes effect where it is stored (seed 002, *Emotion*)."""

from daemon.memory.mind.mood_shift import MoodShift
from daemon.memory.thought_parts import ThoughtPart
from daemon.mind.moment import Moment
from daemon.mind.thought import CognitiveOutput


def feeling_parts(moment: Moment, output: CognitiveOutput) -> tuple[ThoughtPart, ...]:
    """The shift of the mood; none where the thought moved nothing."""
    felt = output.emotional_state
    known = {one.casefold(): one for one in moment.moods or (felt.mood,)}
    mood = known.get(felt.mood.casefold(), "") if felt.mood else ""
    shift = MoodShift(
        felt.valence_shift,
        felt.arousal_shift,
        felt.dominance_shift,
        felt.felt_quality,
        mood,
        moment.half_life_minutes,
        unknown=bool(felt.mood and not mood),
    )
    return (shift,) if shift.size else ()
