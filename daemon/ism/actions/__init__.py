"""The actions that the soul may choose from when it solves a problem, one per module (seed 001)."""

from daemon.ism.actions.ask import ask
from daemon.ism.actions.escalate import escalate
from daemon.ism.actions.handoff import handoff
from daemon.ism.actions.read import read
from daemon.ism.actions.remember import remember
from daemon.ism.actions.remind import remind
from daemon.ism.actions.research import research
from daemon.ism.actions.respond import respond
from daemon.ism.actions.share import share
from daemon.ism.actions.tell import tell
from daemon.ism.actions.think import think
from daemon.ism.machine import Action, extended_actions
from daemon.ism.problem import Problem
from daemon.ism.sources import Sources
from daemon.mind.process import ProcessContext


def actions_for(context: ProcessContext, problem: Problem, sources: Sources) -> tuple[Action, ...]:
    """Return the actions offered for a problem in a conversation.

    Each handler works on `problem` and through the motor. An action is left out where it could do nothing. Work that
    only reads neither sets reminders nor hands anything on.
    """
    limits = context.cycle.limits
    acts = limits is not None and not limits.reads_only
    offered = (
        think(context),
        research(context, problem, sources) if sources else None,
        read(context, problem) if sources or problem.found else None,
        ask(context, problem),
        remember(context) if acts else None,
        remind(context) if acts else None,
        share(context) if acts else None,
        tell(context),
        handoff(context) if acts else None,
        respond(context, problem),
        escalate(context, problem) if acts else None,
    )
    return (*(action for action in offered if action is not None), *extended_actions(context, acts=acts))
