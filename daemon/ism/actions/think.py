"""The action Think: reason about the problem without saying anything."""

from daemon.ism.machine import Action, ActionUse, Recurse
from daemon.ism.problem import with_input
from daemon.mind.extended_steps import with_soul_creativity
from daemon.mind.process import ProcessContext
from daemon.mind.steps.internal_monologue import internal_monologue


def think(context: ProcessContext) -> Action:
    """Build the action. Its input says what to think about."""

    async def handle(use: ActionUse) -> Recurse:
        about = ' Begin with what stands under "Aim".' if use.input else ""
        step = internal_monologue(
            context.soul.display_name, f"Think the problem through, as far as what is known leads.{about}"
        )
        _, thought = await context.mind.run(with_input(use.memory, use.input), with_soul_creativity(context.soul, step))
        return use.recurse(observation=thought)

    return Action("Think", "put together in silence what is known so far; input: the question to think about", handle)
