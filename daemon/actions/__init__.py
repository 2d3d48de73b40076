"""What the soul may choose to do when it solves a problem: a family of actions, one a module (seed 001)."""

from daemon.actions.ask import ask
from daemon.actions.escalate import escalate
from daemon.actions.remind import remind
from daemon.actions.research import research
from daemon.actions.respond import respond
from daemon.actions.think import think
from daemon.ism.machine import Action
from daemon.mental_process import ProcessContext
from daemon.solving.problem import Problem


def actions_for(context: ProcessContext, problem: Problem) -> tuple[Action, ...]:
    """The actions at hand for a problem in a conversation; each handler works on `problem` and through the motor."""
    return (
        think(context),
        research(context, problem),
        ask(context, problem),
        remind(context),
        respond(context, problem),
        escalate(context, problem),
    )
