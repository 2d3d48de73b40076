"""Which parts of a thought take effect where it is stored: one function for each field, in the order of the thought.

A part is made of the thought and its moment alone, since an admin may allow one long after the cycle that thought it.
"""

from collections.abc import Callable
from typing import Final

from daemon.memory.thought_parts import ThoughtPart
from daemon.mind.document_parts import of_identity, of_self, of_values, of_world
from daemon.mind.expecting import expected_of
from daemon.mind.feeling_parts import feeling_parts
from daemon.mind.goal_updates import goals_of
from daemon.mind.intending import intended_of
from daemon.mind.mental_process import ProcessContext
from daemon.mind.moment import Moment
from daemon.mind.recall.mood import current_mood
from daemon.mind.remembering_parts import remembering_parts
from daemon.mind.thought import CognitiveOutput
from daemon.mind.waking import wishes_to_wake

PartsOf = Callable[[Moment, CognitiveOutput], tuple[ThoughtPart, ...]]

_KINDS: Final[tuple[PartsOf, ...]] = (
    expected_of,
    remembering_parts,
    intended_of,
    feeling_parts,
    of_self,
    of_world,
    goals_of,
    of_values,
    of_identity,
    wishes_to_wake,
)


def moment_of(context: ProcessContext) -> Moment:
    """The moment of a cycle."""
    soul, now_ms = context.soul, context.mind.clock.now_ms()
    return Moment(
        now_ms,
        context.perception.zone,
        context.cycle.at_hand.expected.surprise or 0.0,
        soul.values,
        soul.emotional_states,
        soul.mood.half_life_minutes,
        current_mood(context.own_state, now_ms, soul),
        soul.physio,
        wakes=context.cycle.thinks_unasked,
        promises=context.cycle.promises if context.cycle.thoughts.authority.takes_initiative else None,
        quiet=context.cycle.quiet,
    )


def parts_of(moment: Moment, output: CognitiveOutput) -> tuple[ThoughtPart, ...]:
    """What of a thought takes effect beside its speech, as far as the house's checks let it then."""
    return tuple(part for of_field in _KINDS for part in of_field(moment, output))
