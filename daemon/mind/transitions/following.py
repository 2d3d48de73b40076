"""Follows the cues in a message, before a process answers it itself."""

from daemon.core.errors import ModelError
from daemon.mind.fixed_pipeline import with_soul_creativity
from daemon.mind.mental_process import ProcessContext, Transition
from daemon.mind.steps.mental_query import mental_query
from daemon.mind.transitions import situation_of
from daemon.mind.transitions.cues import match_cue

HANDED_OVER = "handed_over"
"""Param of a transition: the id of the perception that the target must answer itself, without following cues."""


async def follow_cues(context: ProcessContext) -> Transition | None:
    """A transition to execute now if the newest message holds a cue, certain or confirmed by the model.

    None if the model fails, or if the message was handed over to the process that runs.
    """
    if context.state.params.get(HANDED_OVER) == context.perception.id:
        return None
    cue = match_cue(context.state.process, situation_of(context))
    if cue is None:
        return None
    if cue.question and not await confirmed(context, cue.question):
        return None
    decided_by = "model" if cue.question else "rule"
    return Transition(context.memory, cue.target, cue.reason, execute_now=True, decided_by=decided_by)


async def confirmed(context: ProcessContext, statement: str) -> bool:
    """Whether the model judges a statement about the conversation true; False if it fails. Leaves no memory."""
    try:
        _, true = await context.mind.run(context.memory, with_soul_creativity(context.soul, mental_query(statement)))
    except ModelError:
        return False
    return true
