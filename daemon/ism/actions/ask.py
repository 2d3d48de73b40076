"""The action Ask: a clarifying question, after which the problem waits for the answer while the visit lasts."""

from daemon.core.phrases import short_answers_in
from daemon.ism.actions.respond import answer
from daemon.ism.machine import Action, ActionUse
from daemon.ism.problem import Problem, with_input
from daemon.mind.offering import offer
from daemon.mind.process import ProcessContext, Stay


def ask(context: ProcessContext, problem: Problem) -> Action:
    """Build the action. Its input says what has to be known."""

    async def handle(use: ActionUse) -> Stay:
        want = ' What you need to know stands under "Aim".' if use.input else ""
        instructions = f"Ask the one question without whose answer you can't go on, and say why it matters.{want}"
        memory = await answer(context, problem, with_input(use.memory, use.input), instructions)
        offer(context, short_answers_in(use.input.partition("|")[2]))
        problem.asks = True
        return Stay(memory)

    return Action(
        "Ask",
        "ask the person the one thing that only they can tell, and wait for their answer; input: what you "
        "have to know; and, where two to five short answers settle it, each of these behind a |",
        handle,
    )
