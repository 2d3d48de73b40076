"""Getting to know a new user: the soul asks about their work and shows what it can do."""

from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Stay, Transition

_STANCE = (
    "You and this person have just met. Answer them, and where it fits name one thing near to what they are doing that "
    "they could bring to you, or ask the one question whose answer would help you most to be of use."
)
_IN_DEPTH = 600  # characters of a message that is in depth already
_ACQUAINTED = 2  # replies after which the user is known


async def curious(context: ProcessContext) -> Outcome:
    """Encourage the user; a long message or a second reply leads to `engaged`."""
    if len(context.perception.content) >= _IN_DEPTH:
        return Transition(context.memory, "engaged", "they went into the matter at length", execute_now=True)
    reply = await converse(context, _STANCE)
    if isinstance(reply, Transition):
        return reply
    if context.state.invocations + 1 >= _ACQUAINTED:
        return Transition(reply, "engaged", "they know each other by now")
    return Stay(reply)
