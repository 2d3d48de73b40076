"""Follows what somebody's words lead to, before a process answers them itself."""

from daemon.core.errors import ModelError
from daemon.mind.fixed_pipeline import with_soul_creativity
from daemon.mind.mental_process import ProcessContext, Transition
from daemon.mind.steps.mental_query import mental_query
from daemon.mind.transitions import situation_of
from daemon.mind.transitions.cues import match_cue

HANDED_OVER = "handed_over"
"""The param of a transition that hands a perception, by its id, to a process that is to answer it itself."""


async def follow_cues(context: ProcessContext) -> Transition | None:
    """A transition to be executed now where the newest words call for one: by plain rule, or confirmed by the mind.

    A mind that can't be asked leads nowhere: the process that asked goes on. Words handed over to it lead nowhere else.
    """
    if context.state.params.get(HANDED_OVER) == context.perception.id:
        return None
    found = match_cue(context.state.process, situation_of(context))
    if found is None:
        return None
    if found.question and not await confirmed(context, found.question):
        return None
    decided_by = "model" if found.question else "rule"
    return Transition(context.memory, found.target, found.reason, execute_now=True, decided_by=decided_by)


async def confirmed(context: ProcessContext, statement: str) -> bool:
    """Whether the mind holds a statement about the conversation to be true; nothing of it stays in memory."""
    try:
        _, true = await context.mind.run(context.memory, with_soul_creativity(context.soul, mental_query(statement)))
    except ModelError:
        return False
    return true
