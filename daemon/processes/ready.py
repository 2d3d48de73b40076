"""The user needs a person or a channel that can act: the soul names one of its contacts."""

from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Transition

_STANCE = """\
This person needs somebody who can act. Lead them there: name whoever of these fits, say what to bring along, and \
offer to help to put it into words. If none fits, say so; never make up a name or a promise.

{contacts}"""


async def ready(context: ProcessContext) -> Outcome:
    """Name the contacts that fit, then go back to `engaged`."""
    contacts = "\n".join(f"- {one.name}: {one.can}" for one in context.soul.contacts)
    reply = await converse(context, _STANCE.format(contacts=contacts))
    return reply if isinstance(reply, Transition) else Transition(reply, "engaged", "the way has been shown")
