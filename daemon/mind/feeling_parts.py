"""How a thought moves the soul, as the part that takes effect where it is stored (seed 002, *Emotion*)."""

from daemon.memory.knowledge.qualia import OwnFeeling
from daemon.memory.mind.mood_shift import MoodShift
from daemon.memory.thought_parts import ThoughtPart
from daemon.mind.moment import Moment
from daemon.mind.steps.feel import qualia_in
from daemon.mind.thought import CognitiveOutput


def feeling_parts(moment: Moment, output: CognitiveOutput) -> tuple[ThoughtPart, ...]:
    """The shift of the mood, and how it feels; none where the thought says nothing of it."""
    said = output.emotional_state
    known = {one.casefold(): one for one in moment.moods or (said.mood,)}
    mood = known.get(said.mood.casefold(), "") if said.mood else ""
    qualia = qualia_in(said.qualia)
    shift = MoodShift(
        said.valence_shift,
        said.arousal_shift,
        said.dominance_shift,
        said.felt_quality,
        mood,
        moment.half_life_minutes,
        unknown=bool(said.mood and not mood),
        feeling=OwnFeeling(qualia, dict(dict(moment.physio).get(mood or moment.mood, ()))) if qualia else None,
    )
    return (shift,) if shift.size else ()
