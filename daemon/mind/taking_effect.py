"""What one whole thought does beside its speech (seed 002, *Motor*): each part takes effect in the commit of its reply.

Parts that nothing of the house can carry out are kept with the thought.
"""

from typing import Final

from daemon.core.ports.models import JUST_THOUGHT
from daemon.core.turn_fields import heard_in
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.memory.stream.new_thought import NewThought
from daemon.mind.mental_process import ProcessContext
from daemon.mind.steps.think import Considered
from daemon.mind.thought import CognitiveOutput
from daemon.mind.thought.cognitive_output import MemoryOp
from daemon.mind.thought.occasion import occasion_of
from daemon.mind.thought_input import given_to
from daemon.mind.thought_parts import moment_of, parts_of
from daemon.soul_engine import THOUGHTS

_KEPT_IN_MIND = ("write_episodic", "write_semantic")
_USUAL_SIGNIFICANCE = 5

MOST_LOOKS: Final = 2
"""How often a soul may look into its memory and think again before it has to answer."""

_LOOKED: Final = """\
A moment ago you thought the first of these and looked into your memory; what that gave stands among your memories. \
Answer now, or look for something else; what you don't find you may say that you don't know."""


def take_effect(context: ProcessContext, thought: Considered) -> None:
    """Hand the parts of a thought to the motor; memories are inferred, and never facts by themselves."""
    output, motor = thought.output, context.motor
    if thought.reply:
        motor.describe(heard_in({"emotion_signal": output.emotion_signal}), thought.stated)
    refused: list[tuple[str, str]] = [(one.field, one.reason) for one in thought.read.refused]
    to_note, tone = [one for one in output.memory_ops if one.type in _KEPT_IN_MIND], output.emotional_state.felt_quality
    noted = 0 if context.cycle.paused else sum(_note(context, one, tone) for one in to_note)
    if noted < len(to_note):
        refused.append(("memory_ops", "private" if context.cycle.paused else "too_many"))
    if thought.reply:
        motor.annotate(
            monologue=output.inner_speech or None, user_model_check=bool(output.world_model_updates or noted)
        )
    done = {"external_speech": int(bool(thought.reply)), "memory_ops": noted + len(thought.queries)}
    motor.think(
        NewThought(
            occasion_of(context.perception),
            context.state.process,
            given_to(context).model_dump_json(exclude_defaults=True),
            _as_said(output, thought.reply).model_dump_json(exclude_defaults=True),
            spoke=bool(thought.reply),
            did={name: number for name, number in done.items() if number},
            refused=tuple(refused),
            saw_thoughts=context.cycle.thoughts.ids,
            parts=parts_of(moment_of(context), output),
        )
    )


def _note(context: ProcessContext, one: MemoryOp, tone: str) -> bool:
    """Note what a thought finds worth remembering; False where there is no room for more."""
    before = len(context.motor.remembered)
    significance = one.significance or _USUAL_SIGNIFICANCE
    context.motor.remember(one.content, significance=significance, tags=one.tags, tone=tone)
    return len(context.motor.remembered) > before


async def look_again(context: ProcessContext, thought: Considered) -> WorkingMemory:
    """The memory for the next thought about the same moment: with what was looked for, and what was said meanwhile."""
    memory = await context.cycle.absorb_new_messages(context.memory)
    memory = await context.cycle.look_again(memory, thought.queries)
    private = "\n".join((thought.output.inner_speech, *thought.queries))
    just_now = Memory(Role.USER, private, name=JUST_THOUGHT)
    return memory.with_region(THOUGHTS, Memory(Role.SYSTEM, _LOOKED), just_now, *memory.region(THOUGHTS))


def _as_said(output: CognitiveOutput, reply: str) -> CognitiveOutput:
    """The thought with the words that were said in place of those that the model wrote around them."""
    return output.model_copy(update={"external_speech": reply or None})
