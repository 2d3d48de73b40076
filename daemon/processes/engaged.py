"""In conversation: the default process, in which most messages are answered."""

from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Stay, Transition


async def engaged(context: ProcessContext) -> Outcome:
    """Answer, unless the message calls for another process."""
    reply = await converse(context)
    return reply if isinstance(reply, Transition) else Stay(reply)
