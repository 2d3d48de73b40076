"""A known user comes back after the visit timeout: a short welcome that remembers, and the answer."""

from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Transition

_STANCE = (
    "This person comes back after {pause}: it is visit {number} here. Welcome them in half a sentence; if you know "
    "what they were at, touch on it, lightly and only from what you were told here. Then answer what they said."
)

_DAY = 24


async def returning(context: ProcessContext) -> Outcome:
    """Welcome the user back, then go to `engaged`."""
    reply = await converse(context, _STANCE.format(number=context.visit.number, pause=_pause(context.visit.silence)))
    return reply if isinstance(reply, Transition) else Transition(reply, "engaged", "they have been welcomed back")


def _pause(seconds: float) -> str:
    """The length of the silence in words; zero seconds, as in a new thread, count as a while."""
    hours = round(seconds / 3600)
    if hours < 1:
        return "a while"
    return f"{hours} hours" if hours < 2 * _DAY else f"{round(hours / _DAY)} days"
