"""Obeys *bind ada-api here* and *unbind*, and has an owner asked where the admin wants a thread bound.

Who types *bind* has to be the session's owner: their own words are their consent, a key or a token is none.
"""

from daemon.core.errors import ChannelError
from daemon.core.fencing import clean_name
from daemon.core.links import KnownHosts
from daemon.core.perception import ConversationKey, Place
from daemon.core.phrases import Command, Phrase
from daemon.core.questions import OVER_MS
from daemon.core.sessions import CodeSession
from daemon.memory.records import Delivery
from daemon.memory.shared.binding_acts import EVERYBODY_PARAM, SESSION_PARAM, AskedToBind, Bound, Unbound
from daemon.memory.shared.question_acts import AskedOwner
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.asking_sessions import WHERE_ASKED, NotAsked, session_named, why_none
from daemon.runtime.people.own_words import say


async def bind_here(cycle: Cycle, phrase: Phrase) -> Delivery | None:
    """Bind the thread, or say why not, and commit; returns the first post, claimed for sending.

    Raises StoreError, LostLease, and ReadersChanged where others read along by now, or the session is another.
    """
    try:
        session = await session_named(cycle, phrase.name)
        _require_bindable(cycle, session, by=cycle.newest.author)
    except NotAsked as refused:
        return await say(cycle, str(refused))
    return await _bind(cycle, session, everybody=phrase.command is Command.BIND_FOR_ALL)


async def unbind_here(cycle: Cycle) -> Delivery | None:
    """End the binding of the thread, for whoever says so, and commit; raises as `bind_here` does."""
    bound = cycle.claim.bound
    if bound is None:
        return await say(cycle, cycle.words.say("bound_not"))
    cycle.services.emit("threads.unbound", trace=cycle.trace_id)
    return await say(cycle, cycle.words.say("bound_ended"), Unbound(bound))


async def ask_to_bind(cycle: Cycle) -> Delivery | None:
    """Ask the owner of a session whether the thread may be bound, as the admin wants; raises as `bind_here` does.

    Where it can't be bound by now, nothing is said: nobody here asked for it.
    """
    session = await _meant(cycle)
    try:
        if session is not None:
            asks = await _asks(cycle, session, everybody=bool(cycle.newest.params.get(EVERYBODY_PARAM)))
            act = AskedToBind(session.id, session.name, bool(cycle.newest.params.get(EVERYBODY_PARAM)), asks)
            return await say(cycle, "", act)
    except ChannelError as error:
        cycle.services.emit("threads.not_bound", trace=cycle.trace_id, reason=error.message)
    return await say(cycle, "")


async def bind_as_allowed(cycle: Cycle) -> Delivery | None:
    """Bind the thread as the session's owner allowed, if it still can be; raises as `bind_here` does."""
    session = await _meant(cycle)
    if session is None:
        return await say(cycle, "")
    return await _bind(cycle, session, everybody=bool(cycle.newest.params.get(EVERYBODY_PARAM)))


async def _bind(cycle: Cycle, session: CodeSession, *, everybody: bool) -> Delivery | None:
    text = cycle.words.say(
        "bound_for_all" if everybody else "bound_here", owner=clean_name(session.person_name), session=session.name
    )
    cycle.services.emit("threads.bound", trace=cycle.trace_id, everybody=everybody)
    return await say(cycle, text, Bound(session.id, session.name, session.person, everybody))


def _require_bindable(cycle: Cycle, session: CodeSession, *, by: str) -> None:
    """Raises NotAsked where this person can't bind this session here."""
    say, bound = cycle.words.say, cycle.claim.bound
    if not session.person or session.person != by:
        raise NotAsked(say("bound_not_yours", session=session.name))
    if bound is not None and bound.session != session.id:
        raise NotAsked(say("bound_taken"))


async def _meant(cycle: Cycle) -> CodeSession | None:
    """The session of an event that is about binding, if it may be bound here now by its owner."""
    session = await cycle.services.asking.one(str(cycle.newest.params.get(SESSION_PARAM, "")))
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
    """Why a session isn't bound to another person's direct messages; empty where it is not about these."""
    if cycle.newest.place is not Place.DM:
        return ""
    try:
        room = await cycle.services.capabilities.find_room(session.person)
    except ChannelError as error:
        return error.message
    theirs = room.channel == cycle.claim.conversation.channel
    return "" if theirs else "these are the direct messages of another person"


async def _asks(cycle: Cycle, session: CodeSession, *, everybody: bool) -> AskedOwner:
    """The question for the owner, in their language: which thread, and who speaks there then. Raises ChannelError."""
    services, newest, where = cycle.services, cycle.newest, cycle.claim.conversation
    room = await services.capabilities.find_room(session.person)
    words = services.soul().words_in(await services.channels.main.language_of(session.person))
    link = await cycle.channel.permalink(where, where.thread) if where.thread else ""
    hosts = KnownHosts(services.link_hosts)
    hosts.learn(link)
    place = words.say(WHERE_ASKED.get(newest.place, "place_elsewhere"))
    asks = words.say("bound_may_all" if everybody else "bound_may", session=session.name, where=place)
    there = ConversationKey(where.soul, where.workspace, room.channel)
    parts = services.channels.of(there).split(f"{asks} {link}".strip(), there, hosts)
    seconds = min(services.capabilities.approval_seconds, OVER_MS / 1000)
    return AskedOwner(session.person, room.channel, room.audience, parts, seconds)
