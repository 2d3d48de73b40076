"""The visit has ended by its timeout: a farewell if the soul says one."""

from daemon.mind.fixed_pipeline import say
from daemon.mind.mental_process import Outcome, ProcessContext, Stay
from daemon.mind.steps.external_dialog import external_dialog

_INSTRUCTIONS = (
    "The talk has ended. Take your leave in one sentence, without a question; if something was agreed, name it once."
)


async def exiting(context: ProcessContext) -> Outcome:
    """Calls no model unless the soul says farewell."""
    if not context.soul.presence.says_farewell:
        return Stay(context.memory)
    return Stay(await say(context, external_dialog(context.soul, _INSTRUCTIONS)))
