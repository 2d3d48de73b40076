"""Leads other words for *who is working on what?* to the list that is shown without a model."""

from daemon.mind.mental_process import ProcessContext
from daemon.shared.who_works import listed

_SHOWN = (
    "Who is working on what, as their sessions of Claude Code say, stands in a list below your reply. Say so in one "
    "sentence, and name at most who they asked about; claim nothing that the list doesn't say."
)
_NOT_HERE = (
    "Who is working on what was not shown: others than full members of the workspace read here. That stands below your "
    "reply. Say no more about it."
)


async def show_who_works(context: ProcessContext) -> str:
    """Put the list below the reply, where all who read may see it; gives what the prompt says. Raises StoreError."""
    motor = context.motor
    if not context.cycle.readers.members_only:
        motor.show_below(motor.words.say("work_not_here"))
        return _NOT_HERE
    motor.show_below(listed(await context.capabilities.sessions(), motor.words))
    return _SHOWN
