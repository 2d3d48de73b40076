"""What one whole thought does beside its speech (seed 002, *Motor*): each part takes effect in the commit of its reply.

Parts that nothing of the house can carry out are kept with the thought.
"""

from daemon.core.turn_fields import heard_in
from daemon.memory.stream.new_thought import NewThought
from daemon.mind.mental_process import ProcessContext
from daemon.mind.steps.think import Considered
from daemon.mind.thought import CognitiveOutput
from daemon.mind.thought.occasion import occasion_of
from daemon.mind.thought_input import given_to

_KEPT_IN_MIND = ("write_episodic", "write_semantic")
_USUAL_SIGNIFICANCE = 5


def take_effect(context: ProcessContext, thought: Considered) -> None:
    """Hand the parts of a thought that was said to the motor; memories are inferred, and never facts by themselves."""
    output, motor = thought.output, context.motor
    motor.describe(heard_in({"emotion_signal": output.emotion_signal}), thought.stated)
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
    motor.think(
        NewThought(
            occasion_of(context.perception),
            context.state.process,
            given_to(context).model_dump_json(exclude_defaults=True),
            _as_said(output, thought.reply).model_dump_json(exclude_defaults=True),
            spoke=True,
            did={"external_speech": 1, **({"memory_ops": len(noted)} if noted else {})},
            refused=tuple((one.field, one.reason) for one in thought.read.refused),
            saw_thoughts=context.cycle.thoughts.ids,
        )
    )


def _as_said(output: CognitiveOutput, reply: str) -> CognitiveOutput:
    """The thought with the words that were said in place of those that the model wrote around them."""
    return output.model_copy(update={"external_speech": reply})
