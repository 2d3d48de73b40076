"""A mental process: a line for the standup, made by a step of its own; then the talk goes on."""

from daemon.core.ports.models import ModelRole
from daemon.core.step import Step
from daemon.core.working_memory import Memory, Role
from daemon.mind.extended import ProcessExtension
from daemon.mind.fixed_pipeline import say
from daemon.mind.mental_process import Outcome, ProcessContext, Transition
from daemon.mind.spoken_text import SpokenText
from daemon.soul import Soul


def _line(soul: Soul) -> Step[str]:
    return Step(
        name="standup_line",
        command="Say in one line what they did, what they do next and what is in their way. Write the line alone.",
        read=str.strip,
        remember=lambda line: (Memory(Role.ASSISTANT, line, name=soul.display_name),),
        role=ModelRole.PERSONA,
        visible=lambda: SpokenText(soul.display_name, soul.private_verbs),
        max_output_tokens=256,
    )


async def _standup(context: ProcessContext) -> Outcome:
    memory = await say(context, _line(context.soul))
    return Transition(memory, "engaged", "the line has been said")


STANDUP = ProcessExtension(_standup, "they want their work put into a line for the standup", "they want a standup line")
