"""Leads other words for *who is working on what?* to the list that is shown without a model."""

from daemon.mind.mental_process import ProcessContext
from daemon.shared.who_works import listed

_SHOWN = (
    "Who is working on what, as their sessions of Claude Code say, stands in a list below your reply. Say so in one "
    "sentence, and name at most who they asked about; claim nothing that the list doesn't say."
)


def knows_of_sessions(context: ProcessContext) -> bool:
    """Whether there is a session that all who read may know of."""
    return bool(context.cycle.at_work)


async def show_who_works(context: ProcessContext) -> str:
    """Put the list below the reply; gives what the prompt says."""
    context.motor.show_below(listed(context.cycle.at_work, context.motor.words))
    return _SHOWN
