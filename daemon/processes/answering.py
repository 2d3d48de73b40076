"""A workflow asks the soul for an answer that its next steps use."""

from daemon.mind.fixed_pipeline import say
from daemon.mind.mental_process import Outcome, ProcessContext, Stay
from daemon.mind.stances import stance_of
from daemon.mind.steps.external_dialog import external_dialog


async def answering(context: ProcessContext) -> Outcome:
    """One answer, of what is recalled alone."""
    return Stay(await say(context, external_dialog(context.soul, stance_of(context.soul, "answering"))))
