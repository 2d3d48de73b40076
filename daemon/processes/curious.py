"""Getting to know a new user: the soul asks about their work and shows what it can do, until there is a matter."""

from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Stay, Transition
from daemon.mind.stances import stance_of

_ACQUAINTED = 2  # replies after which the user is known, matter or not


async def curious(context: ProcessContext) -> Outcome:
    """Encourage the user; a matter that they are at, or a second reply, leads to `engaged`.

    Whether there is a matter the soul has noticed by itself: as a topic in its state, or in the check of its reply.
    """
    if context.own_state is not None and context.own_state.topic:
        return Transition(context.memory, "engaged", "they are at a matter already", execute_now=True)
    reply = await converse(context, stance_of(context.soul, "curious"))
    if isinstance(reply, Transition):
        return reply
    if context.motor.annotations.get("soul_state_check") is True:
        return Transition(reply, "engaged", "a matter has come up")
    if context.state.invocations + 1 >= _ACQUAINTED:
        return Transition(reply, "engaged", "they know each other by now")
    return Stay(reply)
