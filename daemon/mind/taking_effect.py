"""What one whole thought does beside its speech (seed 002, *Motor*): each part takes effect in the commit of its reply.

Parts that nothing of the house can carry out are kept with the thought.
"""

from typing import Final

from daemon.core.lineage import saw
from daemon.core.ports.models import JUST_THOUGHT
from daemon.core.turn_fields import SURE_OF_INTENT, heard_in
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.memory.stream.new_thought import NewThought
from daemon.mind.mental_process import ProcessContext
from daemon.mind.reading_tools import ToolsUsed, with_results
from daemon.mind.remembering_parts import wants_noting
from daemon.mind.steps.think import Considered, queries_of
from daemon.mind.thought import CognitiveOutput, in_effect
from daemon.mind.thought.occasion import occasion_of
from daemon.mind.thought_input import given_to
from daemon.mind.thought_parts import moment_of, parts_of
from daemon.soul_engine import THOUGHTS, seen_in

MOST_LOOKS: Final = 2
"""How often a soul may look into its memory and think again before it has to answer."""

_LOOKED: Final = """\
A moment ago you thought the first of these and looked something up; what that gave stands among your \
memories and the results. Answer now, or look for something else; what you don't find you may say that you don't \
know."""


def take_effect(context: ProcessContext, thought: Considered, used: ToolsUsed, memory: WorkingMemory) -> None:
    """Hand the parts of a thought to the motor, as far as the functions of the mind may act by themselves.

    `memory` is what its prompt was made of: by what stood there it is followed.
    """
    motor, authority = context.motor, context.cycle.thoughts.authority
    output = in_effect(thought.output, authority)
    if thought.reply:
        said = output.model_dump(include={"emotion_signal", "salience_anchor", "intent"})
        motor.describe(heard_in({**said, "confidence": str(SURE_OF_INTENT)}), thought.stated)
        learned = bool(output.world_model_updates) or (wants_noting(output) and not context.cycle.paused)
        motor.annotate(monologue=output.inner_speech or None, user_model_check=learned or output.user_model_check)
    motor.think(
        NewThought(
            occasion_of(context.perception),
            context.state.process,
            given_to(context).model_dump_json(exclude_defaults=True),
            _as_said(thought.output, thought.reply).model_dump_json(exclude_defaults=True),
            spoke=bool(thought.reply),
            surprise=context.cycle.at_hand.expected.surprise,
            did={"external_speech": 1} if thought.reply else {},
            refused=tuple((one.field, one.reason) for one in thought.read.refused),
            saw_thoughts=(*context.cycle.thoughts.ids, *sorted(seen_in(memory))),
            parts=(*parts_of(moment_of(context), output), *used.parts),
            authority=authority,
        )
    )


async def look_again(context: ProcessContext, thought: Considered, used: ToolsUsed) -> WorkingMemory:
    """The memory for the next thought about the same moment: with what was looked for, and what was said meanwhile."""
    memory = await context.cycle.absorb_new_messages(context.memory)
    sought = queries_of(in_effect(thought.output, context.cycle.thoughts.authority))
    memory = with_results(await context.cycle.look_again(memory, sought), used)
    private = "\n".join((thought.output.inner_speech, *thought.queries, *thought.calls))
    just_now = Memory(Role.USER, private, name=JUST_THOUGHT, metadata=saw())
    before = (one for one in memory.region(THOUGHTS) if one.content != _LOOKED)  # it is told of the newest look alone
    return memory.with_region(THOUGHTS, Memory(Role.SYSTEM, _LOOKED), just_now, *before)


def _as_said(output: CognitiveOutput, reply: str) -> CognitiveOutput:
    """The thought with the words that were said in place of those that the model wrote around them."""
    return output.model_copy(update={"external_speech": reply or None})
