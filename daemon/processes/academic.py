"""Scholarly questions: the soul answers in its academic mode until the user turns to something else."""

from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Stay, Transition

_STANCE = (
    "A scholarly answer is wanted. Keep apart what the sources say, what is widely held, what a minority holds and "
    "what is your own guess, and say which is which. Never invent a reference; where you aren't sure of one, say so."
)


async def academic(context: ProcessContext) -> Outcome:
    """Answer as a scholar; when the model says that the person has turned to other matters, `engaged` answers."""
    mode = context.soul.mode("academic")
    if mode is None:  # its folder was removed while the conversation was in this process
        return Transition(context.memory, "engaged", "the soul has no academic mode any more", execute_now=True)
    reply = await converse(context, _STANCE, mode)
    return reply if isinstance(reply, Transition) else Stay(reply)
