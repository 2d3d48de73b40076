"""Scholarly questions: the soul answers in its academic mode until the user turns to something else."""

from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Stay, Transition
from daemon.mind.stances import stance_of


async def academic(context: ProcessContext) -> Outcome:
    """Answer as a scholar; when the model says that the person has turned to other matters, `engaged` answers."""
    mode = context.soul.mode("academic")
    if mode is None:  # its folder was removed while the conversation was in this process
        return Transition(context.memory, "engaged", "the soul has no academic mode any more", execute_now=True)
    reply = await converse(context, stance_of(context.soul, "academic"), mode)
    return reply if isinstance(reply, Transition) else Stay(reply)
