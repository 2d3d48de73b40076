"""Ask: a clarifying question, after which the problem waits for the answer, however long that takes."""

from dataclasses import replace

from daemon.fixed_pipeline import say
from daemon.ism.machine import Action, ActionUse
from daemon.mental_process import ProcessContext, Stay
from daemon.solving.problem import Problem
from daemon.steps.external_dialog import external_dialog


def ask(context: ProcessContext, problem: Problem) -> Action:
    """Its input says what has to be known."""

    async def handle(use: ActionUse) -> Stay:
        want = f" What you need to know: {use.input}" if use.input else ""
        step = external_dialog(
            context.soul, f"Ask the one question without whose answer you can't go on, and say why it matters.{want}"
        )
        memory = await say(replace(context, memory=use.memory), step)
        problem.waits_for = "answer"
        return Stay(memory)

    return Action(
        "Ask", "ask the person one clarifying question and wait for the answer; input: what has to be known", handle
    )
