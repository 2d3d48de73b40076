"""The visit has ended by its timeout: a farewell if the soul says one."""

from daemon.mind.fixed_pipeline import say
from daemon.mind.mental_process import Outcome, ProcessContext, Stay
from daemon.mind.stances import stance_of
from daemon.mind.steps.external_dialog import external_dialog


async def exiting(context: ProcessContext) -> Outcome:
    """Calls no model unless the soul says farewell, which it doesn't in quiet hours."""
    if not context.soul.presence.says_farewell or context.cycle.silent_for == "quiet":
        return Stay(context.memory)
    return Stay(await say(context, external_dialog(context.soul, stance_of(context.soul, "exiting"))))
