"""What one whole thought does beside its speech (seed 002, *Motor*): each part takes effect in the commit of its reply.

Parts that nothing of the house can carry out are kept with the thought.
"""

from daemon.core.turn_fields import Heard, heard_in
from daemon.mind.mental_process import ProcessContext
from daemon.mind.steps.think import Considered
from daemon.mind.thought import CognitiveOutput

_KEPT_IN_MIND = ("write_episodic", "write_semantic")
_USUAL_SIGNIFICANCE = 5


def take_effect(context: ProcessContext, thought: Considered) -> None:
    """Hand the parts of a thought that was said to the motor; memories are inferred, and never facts by themselves."""
    output, motor = thought.output, context.motor
    motor.describe(_heard(output), thought.stated)
    noted = [one for one in output.memory_ops if one.type in _KEPT_IN_MIND]
    for one in noted:
        motor.remember(
            one.content,
            significance=one.significance or _USUAL_SIGNIFICANCE,
            tags=one.tags,
            tone=output.emotional_state.felt_quality,
        )
    motor.annotate(
        monologue=output.inner_speech or None,
        user_model_check=bool(output.world_model_updates or noted),
    )


def _heard(output: CognitiveOutput) -> Heard:
    return heard_in({"emotion_signal": output.emotion_signal})
