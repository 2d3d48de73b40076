"""The first message of a user the soul has not met: a warm welcome that also answers."""

from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Transition

_STANCE = (
    "You have not met this person here before. Answer what they said, and let it be felt that they are welcome: say "
    "in half a sentence who you are. Don't list what you can do and don't ask more than one question."
)


async def greeting(context: ProcessContext) -> Outcome:
    """Welcome the user, then go to `curious`; who comes straight with a wish gets what they came for."""
    reply = await converse(context, _STANCE)
    return reply if isinstance(reply, Transition) else Transition(reply, "curious", "they have been welcomed")
