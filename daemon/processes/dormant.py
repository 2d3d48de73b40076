"""The conversation has been silent for a while: the soul asks itself whether it can move an open matter forward."""

from daemon.mind.fixed_pipeline import say
from daemon.mind.mental_process import Outcome, ProcessContext, Stay
from daemon.mind.stances import stance_of
from daemon.mind.steps.external_dialog import external_dialog
from daemon.mind.transitions.following import confirmed

_CAN_MOVE_ON = (
    "Something that somebody here needs was left open, you can move it forward now by a remark of one or two sentences "
    "that asks for nothing, you have not made that remark before, and it would be welcome unasked."
)


async def dormant(context: ProcessContext) -> Outcome:
    """Silence is the normal answer.

    No model is called where the soul may not speak first, by its file or in quiet hours, or where its task here says
    that nothing is open.
    """
    may_speak = context.soul.presence.speaks_when_dormant and context.cycle.silent_for != "quiet"
    if not may_speak or context.own_state is None or not context.own_state.task:
        return Stay(context.memory)
    if not await confirmed(context, _CAN_MOVE_ON):
        return Stay(context.memory)
    return Stay(await say(context, external_dialog(context.soul, stance_of(context.soul, "dormant"))))
