"""A known user comes back after the visit timeout: a short welcome that remembers, and the answer."""

from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Transition
from daemon.mind.stances import stance_of

_DAY = 24


async def returning(context: ProcessContext) -> Outcome:
    """Welcome the user back, then go to `engaged`.

    The pause is the user's own: in a channel each mention may begin a new thread, which has no silence behind it.
    """
    visit = context.visit
    facts = {"number": str(visit.number), "pause": _pause(visit.away or visit.silence)}
    reply = await converse(context, stance_of(context.soul, "returning", **facts))
    return reply if isinstance(reply, Transition) else Transition(reply, "engaged", "they have been welcomed back")


def _pause(seconds: float) -> str:
    """The length of the pause in words; less than an hour, or one that is not known, counts as a while."""
    hours = round(seconds / 3600)
    if hours < 1:
        return "a while"
    if hours < 2 * _DAY:
        return f"{hours} hours" if hours > 1 else "an hour"
    return f"{round(hours / _DAY)} days"
