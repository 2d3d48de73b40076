"""The first message of a user the soul has not met: a warm welcome that also answers."""

from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Transition
from daemon.mind.stances import stance_of


async def greeting(context: ProcessContext) -> Outcome:
    """Welcome the user, then go to `curious`; who comes straight with a wish gets what they came for."""
    reply = await converse(context, stance_of(context.soul, "greeting"))
    return reply if isinstance(reply, Transition) else Transition(reply, "curious", "they have been welcomed")
