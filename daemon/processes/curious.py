"""Getting to know each other: the soul is interested in what somebody is at, and shows what it is good for."""

from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Stay, Transition
from daemon.mind.transitions.following import follow_cues

_STANCE = (
    "You and this person have just met. Answer them, and where it fits name one thing near to what they are doing that "
    "they could bring to you, or ask the one question whose answer would help you most to be of use."
)
_IN_DEPTH = 600  # characters of a message that goes into the matter by itself
_ACQUAINTED = 2  # answers after which they know each other


async def curious(context: ProcessContext) -> Outcome:
    """Encourage them to go on; a long message, or a second answer, leads into the matter itself."""
    if leading := await follow_cues(context):
        return leading
    if len(context.perception.content) >= _IN_DEPTH:
        return Transition(context.memory, "engaged", "they went into the matter at length", execute_now=True)
    memory = await converse(context, _STANCE)
    if context.state.invocations + 1 >= _ACQUAINTED:
        return Transition(memory, "engaged", "they know each other by now")
    return Stay(memory)
