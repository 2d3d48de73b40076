"""The user needs a person or a channel that can act: the soul names its contacts, or says honestly that it has none."""

from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Transition
from daemon.mind.stances import stance_of

_NOBODY = (
    "(There is nobody here whom you may name: your admin has given you no contacts. Say so plainly in one sentence, "
    "say that your admin can give you some, and that whoever runs the thing in question is the one to ask; then help "
    "with what you can do yourself, such as putting the request into words.)"
)


async def ready(context: ProcessContext) -> Outcome:
    """Name the contacts that fit, then go back to `engaged`."""
    contacts = "\n".join(f"- {one.name}: {one.can}" for one in context.soul.contacts) or _NOBODY
    reply = await converse(context, stance_of(context.soul, "ready", contacts=contacts))
    return reply if isinstance(reply, Transition) else Transition(reply, "engaged", "the way has been shown")
