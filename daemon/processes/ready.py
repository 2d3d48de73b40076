"""Somebody needs a person or a place that can act: the soul shows the way there."""

from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Transition

_STANCE = """\
This person needs somebody who can act. Lead them there: name whoever of these fits, say what to bring along, and \
offer to help to put it into words. If none fits, say so; never make up a name or a promise.

{contacts}"""


async def ready(context: ProcessContext) -> Outcome:
    """Guide them to whoever can act, then be there for the matter again."""
    contacts = "\n".join(f"- {one.name}: {one.can}" for one in context.soul.contacts)
    memory = await converse(context, _STANCE.format(contacts=contacts))
    return Transition(memory, "engaged", "the way has been shown")
