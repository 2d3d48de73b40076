"""A program has reported something in this room: the soul asks itself whether people there should hear of it now."""

from daemon.mind.fixed_pipeline import say
from daemon.mind.mental_process import Outcome, ProcessContext, Stay
from daemon.mind.stances import stance_of
from daemon.mind.steps.external_dialog import external_dialog
from daemon.mind.transitions.following import confirmed

_WORTH_SAYING = (
    "What a program reported last is something that the people in this room have to act on or would want to hear at "
    "once, and you have not said it already."
)


async def attending(context: ProcessContext) -> Outcome:
    """Silence is a proper answer: a model that is in doubt, or fails, says nothing."""
    if not await confirmed(context, _WORTH_SAYING):
        return Stay(context.memory)
    return Stay(await say(context, external_dialog(context.soul, stance_of(context.soul, "attending"))))
