"""Whether a message answers the question for which a problem is parked, or the question has lapsed."""

from daemon.core.errors import ModelError
from daemon.core.perception import Modality
from daemon.ism.problem import Problem
from daemon.mind.creativity import with_soul_creativity
from daemon.mind.mental_process import ProcessContext, Transition
from daemon.mind.steps.mental_query import mental_query
from daemon.mind.transitions import opening_process, situation_of

_ANSWERS = (
    "The person's last message answers the question that you asked in your own last message, or says more about the "
    "problem that you asked it for."
)


async def lapsed(context: ProcessContext, problem: Problem) -> Transition | None:
    """The transition with which the message is answered instead, if the problem's open question has lapsed.

    It lapses with the visit in which it was asked, and with the first message that does not answer it: one question to
    the model, whose failure counts as an answer.
    """
    if not problem.asks or context.perception.modality is not Modality.WORDS:
        return None
    if context.visit.begins:
        target, reason = opening_process(context.state.process, situation_of(context)) or ("engaged", "a visit begins")
        return Transition(context.memory, target, f"the question lapsed: {reason}", execute_now=True)
    try:
        step = with_soul_creativity(context.soul, mental_query(_ANSWERS))
        _, answers = await context.mind.run(context.memory, step)
    except ModelError:
        return None
    if answers:
        return None
    reason = "the question lapsed: they speak of something else"
    return Transition(context.memory, "engaged", reason, execute_now=True, decided_by="model")
