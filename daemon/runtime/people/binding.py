"""Obeys *bind ada-api here*, *unbind* and the pairing of machines, and asks an owner for the admin."""

import secrets
from typing import Final

from daemon.core.errors import ChannelError
from daemon.core.fencing import clean_name
from daemon.core.pairing import BUTTON, CHOICES
from daemon.core.perception import Modality, Place
from daemon.core.phrases import Command, Phrase
from daemon.core.sessions import CodeSession
from daemon.ism.permission import code_block, plain_sight
from daemon.memory.queues.approvals import NewApproval
from daemon.memory.shared.keys import new_key_id
from daemon.memory.shared.pairings import CodeTyped, MachineDecided, Typed, WeighedCode
from daemon.memory.shared.question_acts import EVERYBODY_PARAM, SESSION_PARAM, AskedOwner, AskedToBind, Bound, Unbound
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.answers import DaemonAnswer, in_dm, in_slack, phrase
from daemon.runtime.people.sessions import WHERE_ASKED, NotAsked, asked_in_dm, session_named, why_none


@phrase(Command.BIND, Command.BIND_FOR_ALL, names_sessions=True)
async def bind_here(cycle: Cycle, phrase: Phrase) -> DaemonAnswer:
    """Bind the thread, or say why not.

    The author must be the session's owner: their own words are their consent, a key or a token is none. Raises
    StoreError.
    """
    try:
        session = await session_named(cycle, phrase.name)
        _require_bindable(cycle, session, by=cycle.newest.author)
    except NotAsked as refused:
        return DaemonAnswer(str(refused))
    return _bound(cycle, session, everybody=phrase.command is Command.BIND_FOR_ALL)


@phrase(Command.UNBIND)
async def unbind_here(cycle: Cycle, _: Phrase) -> DaemonAnswer:
    """End the binding of the thread, whatever user asks."""
    bound = cycle.claim.bound
    if bound is None:
        return DaemonAnswer(cycle.words.say("bound_not"))
    cycle.services.emit("threads.unbound", trace=cycle.trace_id)
    return DaemonAnswer(cycle.words.say("bound_ended"), (Unbound(bound),))


async def ask_to_bind(cycle: Cycle) -> DaemonAnswer:
    """Ask the owner of a session whether the thread may be bound, as the admin wants.

    Where it can't be bound any more, nothing is said, since no user here asked for it. Raises StoreError.
    """
    session, everybody = await _meant(cycle), bool(cycle.newest.params.get(EVERYBODY_PARAM))
    try:
        if session is not None:
            asks = await _asks(cycle, session, everybody=everybody)
            return DaemonAnswer(acts=(AskedToBind(session.id, session.name, everybody, asks),))
    except ChannelError as error:
        cycle.services.emit("threads.not_bound", trace=cycle.trace_id, reason=error.message)
    return DaemonAnswer()


async def bind_as_allowed(cycle: Cycle) -> DaemonAnswer:
    """Bind the thread as the session's owner allowed, if it still can be. Raises StoreError."""
    session = await _meant(cycle)
    everybody = bool(cycle.newest.params.get(EVERYBODY_PARAM))
    return DaemonAnswer() if session is None else _bound(cycle, session, everybody=everybody)


def _bound(cycle: Cycle, session: CodeSession, *, everybody: bool) -> DaemonAnswer:
    text = cycle.words.say(
        "bound_for_all" if everybody else "bound_here", owner=clean_name(session.person_name), session=session.name
    )
    cycle.services.emit("threads.bound", trace=cycle.trace_id, everybody=everybody)
    return DaemonAnswer(text, (Bound(session.id, session.name, session.person, everybody),))


def _require_bindable(cycle: Cycle, session: CodeSession, *, by: str) -> None:
    """Raise NotAsked where this person can't bind this session here."""
    say, bound = cycle.words.say, cycle.claim.bound
    if not session.person or session.person != by:
        raise NotAsked(say("bound_not_yours", session=session.name))
    if bound is not None and bound.session != session.id:
        raise NotAsked(say("bound_taken"))


async def _meant(cycle: Cycle) -> CodeSession | None:
    """Return the session of an event about binding, if its owner may bind it here now."""
    session = await cycle.services.store.sessions.one(str(cycle.newest.params.get(SESSION_PARAM, "")))
    there = await cycle.services.asking.those_to_ask()
    reason = why_none(cycle)
    if session is None or session.id not in {one.id for one in there}:
        reason = "the session is not there"
    elif not reason:
        try:
            _require_bindable(cycle, session, by=cycle.newest.author)
            reason = await _not_their_room(cycle, session)
        except NotAsked as refused:
            reason = str(refused)
    if reason:
        cycle.services.emit("threads.not_bound", trace=cycle.trace_id, reason=reason)
    return None if reason else session


async def _not_their_room(cycle: Cycle, session: CodeSession) -> str:
    if cycle.newest.place is not Place.DM:
        return ""
    try:
        room = await cycle.services.capabilities.find_room(session.person)
    except ChannelError as error:
        return error.message
    theirs = room.channel == cycle.claim.conversation.channel
    return "" if theirs else "these are the direct messages of another person"


async def _asks(cycle: Cycle, session: CodeSession, *, everybody: bool) -> AskedOwner:
    """Return the question for the owner, in their language: the thread, and its speakers. Raises ChannelError."""
    where, words = cycle.claim.conversation, await cycle.services.words_for(session.person)
    link = await cycle.channel.permalink(where, where.thread) if where.thread else ""
    place = words.say(WHERE_ASKED.get(cycle.newest.place, "place_elsewhere"))
    asks = words.say("bound_may_all" if everybody else "bound_may", session=session.name, where=place)
    return await asked_in_dm(cycle, session.person, f"{asks} {link}".strip(), link)


_SENTENCES: Final = {
    Typed.UNKNOWN: "pair_unknown",
    Typed.WRONG: "pair_unknown",  # no user learns that one half is right
    Typed.TAKEN: "pair_taken",
    Typed.TOO_MANY: "pair_too_many",
}
_CHOOSE: Final = tuple(f"pair_choose_{act.removeprefix('pair_')}" for act in CHOICES)


def decides_on_machine(cycle: Cycle) -> bool:
    newest = cycle.newest
    return newest.modality is Modality.DECISION and str(newest.params.get("approval", "")).startswith(BUTTON)


@phrase(Command.PAIR, needs={in_slack: "pair_in_slack"})
async def pair(cycle: Cycle, phrase: Phrase) -> DaemonAnswer:
    """Answer a pairing code or decision. Raises StoreError."""
    newest, code, say = cycle.newest, phrase.words, cycle.words.say
    if newest.modality is Modality.DECISION:
        return await _decided(cycle)
    weighed = await cycle.services.store.pairings.weigh(code, newest.author)
    if not in_dm(cycle):
        return DaemonAnswer(say("pair_in_dm"), (CodeTyped(code, weighed, ""),))
    if weighed.typed is not Typed.RIGHT or weighed.pairing is None:
        return DaemonAnswer(say(_SENTENCES[weighed.typed]), (CodeTyped(code, weighed, ""),))
    approval = f"{BUTTON}{secrets.token_hex(8)}"
    new = NewApproval(approval, Command.PAIR.value, {}, (newest.author,), weighed.pairing.until_ms)
    return DaemonAnswer(_question(cycle, weighed), (CodeTyped(code, weighed, approval),), more={"approval": new})


def _question(cycle: Cycle, weighed: WeighedCode) -> str:
    assert weighed.pairing is not None  # it is right
    say, machine = cycle.words.say, plain_sight(clean_name(weighed.pairing.machine))
    choices = "\n".join(f"- {say(one)}" for one in _CHOOSE)
    return "\n\n".join((say("pair_asks"), code_block(machine), say("pair_beware"), choices))


async def _decided(cycle: Cycle) -> DaemonAnswer:
    """Give a machine the rights of the button that the person pressed. Any other decision gives none."""
    newest, say = cycle.newest, cycle.words.say
    approval = str(newest.params["approval"])
    found = await cycle.services.store.pairings.asked_by(approval)
    if newest.params.get("expired"):
        return DaemonAnswer()
    if found is None or found.person != newest.author:
        return DaemonAnswer(say("pair_unknown"))
    own = newest.params.get("approved") is True and newest.params.get("by") == newest.author
    rights = CHOICES.get(str(newest.params.get("answer"))) if own else None
    key = new_key_id() if rights else ""
    text = say("pair_done", id=key) if rights else say("pair_not_done")
    return DaemonAnswer(text, (MachineDecided(approval, found.id, key, rights),))
