"""The actions that the soul may choose from when it solves a problem, one per module (seed 001)."""

from daemon.ism.actions.ask import ask
from daemon.ism.actions.escalate import escalate
from daemon.ism.actions.remind import remind
from daemon.ism.actions.research import research
from daemon.ism.actions.respond import respond
from daemon.ism.actions.think import think
from daemon.ism.machine import Action
from daemon.ism.problem import Problem
from daemon.mind.mental_process import ProcessContext


def actions_for(context: ProcessContext, problem: Problem) -> tuple[Action, ...]:
    """The actions for a problem in a conversation; each handler works on `problem` and through the motor."""
    return (
        think(context),
        research(context, problem),
        ask(context, problem),
        remind(context),
        respond(context, problem),
        escalate(context, problem),
    )
