"""The conversation has been silent for a while: the soul says nothing unless its folder allows it."""

from daemon.mind.fixed_pipeline import say
from daemon.mind.mental_process import Outcome, ProcessContext, Stay
from daemon.mind.steps.external_dialog import external_dialog

_INSTRUCTIONS = (
    "Nobody has said anything for a while. If something was left open that you could move forward, say so in one or "
    "two sentences that ask for nothing; else let one light sentence close the matter. Don't repeat yourself."
)


async def dormant(context: ProcessContext) -> Outcome:
    """Calls no model unless the soul may speak first."""
    if not context.soul.presence.speaks_when_dormant:
        return Stay(context.memory)
    return Stay(await say(context, external_dialog(context.soul, _INSTRUCTIONS)))
