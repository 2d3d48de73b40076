"""Scholarly questions: the soul answers in its academic mode until the user turns to something else."""

from dataclasses import replace

from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Stay, Transition
from daemon.mind.transitions.following import confirmed, follow_cues
from daemon.soul_engine import with_mode

_STANCE = (
    "A scholarly answer is wanted. Keep apart what the sources say, what is widely held, what a minority holds and "
    "what is your own guess, and say which is which. Never invent a reference; where you aren't sure of one, say so."
)
_LEFT = "With their last message the person has turned from scholarly matters to something else."


async def academic(context: ProcessContext) -> Outcome:
    """Answer as a scholar; when the user has turned to something else, `engaged` answers the message instead."""
    mode = context.soul.mode("academic")
    if mode is None:  # its folder was removed while the conversation was in this process
        return Transition(context.memory, "engaged", "the soul has no academic mode any more", execute_now=True)
    if transition := await follow_cues(context):
        return transition
    if context.state.invocations and await confirmed(context, _LEFT):
        return Transition(context.memory, "engaged", _LEFT, execute_now=True, decided_by="model")
    return Stay(await converse(replace(context, memory=with_mode(context.memory, mode.personality)), _STANCE))
