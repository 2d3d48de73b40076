"""The action Respond: answer with what was found and its sources, and end the work."""

from msgspec.structs import replace

from daemon.core.working_memory import WorkingMemory
from daemon.ism.machine import Action, ActionUse
from daemon.ism.problem import Problem, with_input
from daemon.mind.pipelines import say
from daemon.mind.process import ProcessContext, Stay
from daemon.mind.steps.external_dialog import external_dialog

_CITE = (
    "Whatever you take from a numbered result, cite by its number in square brackets, like [1], right behind it; never "
    "write the list of sources yourself. What isn't in the results or in what was said, you say is your own view."
)


def respond(context: ProcessContext, problem: Problem) -> Action:
    """Build the action. Its input says what matters in the answer."""

    async def handle(use: ActionUse) -> Stay:
        dwell = ' Dwell on what stands under "Aim".' if use.input else ""
        memory = with_input(use.memory, use.input)
        return Stay(await answer(context, problem, memory, f"Answer the person with what you found.{dwell}"))

    return Action("Respond", "answer the person and end the work; input: what has to be in the answer", handle)


async def answer(
    context: ProcessContext, problem: Problem, memory: WorkingMemory, instructions: str, *, below: str = ""
) -> WorkingMemory:
    """Say something, with its sources and `below` under it, and return the memory afterwards. Raises ModelError."""
    cite = f" {_CITE}" if problem.found else ""
    memory = await say(replace(context, memory=memory), external_dialog(context.soul, f"{instructions}{cite}"))
    words = context.motor.words
    context.motor.draw_on(problem.numbered)
    context.motor.rewrite(lambda said: "\n\n".join(filter(None, (problem.with_sources(said, words), below))))
    return memory
