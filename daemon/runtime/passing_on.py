"""Passes on the news about a question to a session: the owner's decision, the answer word for word, the end."""

from typing import Final

from daemon.core.fencing import clean_name
from daemon.core.notes import NOTE_PARAM, NoteKind, SharedMessage
from daemon.core.perception import Modality
from daemon.core.questions import NEWS_PARAM, News
from daemon.core.sessions import CodeSession, KeyOwner
from daemon.memory.queues.ended_visits import SessionAnswered
from daemon.memory.records import Delivery, Speaks, Turn
from daemon.memory.shared.question_acts import BINDS, Decided, DecidedToBind
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.answers import DaemonAnswer, commit_answer
from daemon.runtime.people.binding import ask_to_bind, bind_as_allowed

_ABOUT_BINDING: Final = {str(News.BIND): ask_to_bind, str(News.BOUND): bind_as_allowed}
_SENTENCES: Final = {
    News.ALLOWED: "ask_allowed",
    News.REFUSED: "ask_refused",
    News.EXPIRED: "ask_expired",
    News.LATE: "ask_late",
    News.GONE: "ask_gone",
    News.OVER: "ask_over",
}


async def pass_on(cycle: Cycle) -> Delivery | None:
    """Pass on the news, or commit an owner's decision. Return the first post, claimed for sending.

    No model is called and no deadline holds: news are passed on however late they are. Raises StoreError, LostLease,
    ReadersChanged if the readers changed, and ReadersUnknown while they are unknown.
    """
    news, decides = str(cycle.newest.params.get(NEWS_PARAM, "decision")), cycle.newest.modality is Modality.DECISION
    if not decides:
        cycle.require_known_readers()
    if (by_binding := _ABOUT_BINDING.get(news)) is not None:
        return await commit_answer(cycle, await by_binding(cycle))
    delivery = await commit_answer(cycle, _decided(cycle) if decides else await _said(cycle))
    cycle.services.emit("sessions.passed_on", trace=cycle.trace_id, news=news)
    return delivery


def _decided(cycle: Cycle) -> DaemonAnswer:
    approval, expired = str(cycle.newest.params["approval"]), bool(cycle.newest.params.get("expired"))
    act = DecidedToBind(approval) if approval.startswith(BINDS) else Decided(approval, expired)
    return DaemonAnswer(acts=(act,), here=False)


async def _said(cycle: Cycle) -> DaemonAnswer:
    found = await cycle.services.asking.with_answer(str(cycle.newest.params.get(NOTE_PARAM, "")))
    if found is None:  # the question was forgotten
        return DaemonAnswer(here=False)
    question, answer, session = found
    if question.kind is NoteKind.SAID and (cycle.claim.bound is None or cycle.claim.bound.session != question.sender):
        cycle.dismiss("its thread is bound no more")
        return DaemonAnswer(here=False)
    turns = tuple[Turn, ...]()
    if answer and _may_hear(cycle, question):
        turns = (await _turn(cycle, question, answer, session),)
    acts = (SessionAnswered(),) if _is_thought_about(cycle, question, turns) else ()
    return DaemonAnswer(_text(cycle, question, answer, session), acts, turns, {"reply_to": question.reply_to})


def _is_thought_about(cycle: Cycle, question: SharedMessage, turns: tuple[Turn, ...]) -> bool:
    """Return whether the soul thinks about an answer by itself: it was asked for here, and is kept.

    In a thread that is bound to the session people speak with the session, and the soul takes no part.
    """
    asked_here = question.kind in (NoteKind.QUESTION, NoteKind.TASK) and not question.bound
    services = cycle.services
    lasts = any(not one.passing for one in turns)
    return asked_here and lasts and services.tick_budget(cycle.soul) is not None


def _may_hear(cycle: Cycle, question: SharedMessage) -> bool:
    readers = cycle.readers
    return readers.members_only and not readers.apart and readers.audience.within(question.audience)


def _text(cycle: Cycle, question: SharedMessage, answer: str, session: CodeSession | None) -> str:
    say = cycle.words.say
    if not _may_hear(cycle, question):
        return say("ask_others_read")
    name = question.called or say("ask_a_session")
    news = News(str(cycle.newest.params[NEWS_PARAM]))
    if news in _SENTENCES:
        return say(_SENTENCES[news], session=name)
    return f"*{say('ask_answer', session=name, owner=_owner(cycle, session))}*\n\n{answer}"


def _owner(cycle: Cycle, session: CodeSession | None) -> str:
    if session and not session.person:
        return cycle.words.say("work_admin")
    return clean_name(session.person_name) if session and session.person_name else cycle.words.say("because_anyone")


async def _turn(cycle: Cycle, question: SharedMessage, answer: str, session: CodeSession | None) -> Turn:
    """Return the session's answer as the session's turn: it is fenced in prompts, and no evidence about people."""
    author = KeyOwner(session.key if session else "").author
    paused = await cycle.services.store.standing.paused([question.behalf, question.owner, author])
    name = f"{_owner(cycle, session)}'s session {question.called}".strip()
    return Turn(Speaks.SESSION, author, name, cycle.newest.ts, answer, passing=bool(paused))
