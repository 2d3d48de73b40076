"""What is said in a bound thread goes to its session, without a model and without a word of the soul's own.

Of others than its owner, a session that asks no permission for what it does gets nothing without a click of the owner.
"""

from dataclasses import replace

from daemon.core.bound_threads import BoundThread
from daemon.core.errors import ChannelError
from daemon.core.fencing import clean_name
from daemon.core.notes import NoteKind
from daemon.core.sessions import CodeSession, Visibility
from daemon.memory.records import Delivery
from daemon.memory.shared.binding_acts import Unbound
from daemon.memory.shared.question_acts import PutToSession
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.asking_sessions import (
    NotAsked,
    asks_owner,
    put,
    require_room,
    why_none,
    words_for_session,
)
from daemon.runtime.people.own_words import say


async def say_to_session(cycle: Cycle, bound: BoundThread) -> Delivery | None:
    """Put the message to the session and commit; returns the first post, where there is one, claimed for sending.

    Raises StoreError, LostLease, NotDelivered while Slack can't say who the owner is or who reads along, and
    ReadersChanged where others read along by now, or the session or the binding is another.
    """
    cycle.require_known_readers()
    session = await cycle.services.asking.one(bound.session)
    if session is None or not await _still_takes(cycle, session, bound):
        return await say(cycle, cycle.words.say("bound_lost"), Unbound(bound))
    try:
        text, act = await _put(cycle, session)
    except NotAsked as refused:
        return await say(cycle, str(refused))
    cycle.services.emit("sessions.told", trace=cycle.trace_id, asks=act.asks is not None)
    return await put(cycle, text, act)


async def _still_takes(cycle: Cycle, session: CodeSession, bound: BoundThread) -> bool:
    """Whether the session still is its owner's and shown, and the gate still lets its owner in."""
    if session.visibility is Visibility.HIDDEN or session.person != bound.person:
        return False
    if not session.person or session.person == cycle.newest.author:
        return True
    owner = await cycle.channel.admit(replace(cycle.newest, author=session.person))
    return owner.admitted


async def _put(cycle: Cycle, session: CodeSession) -> tuple[str, PutToSession]:
    """What the soul says of it, mostly nothing, and what goes to the session. Raises NotAsked."""
    say, newest = cycle.words.say, cycle.newest
    if why := why_none(cycle):
        raise NotAsked(why)
    await require_room(cycle, session)
    own = bool(session.person) and session.person == newest.author
    clicked = session.unwatched and not own
    if clicked and not session.person:
        raise NotAsked(say("ask_unowned", session=session.name))
    act = PutToSession(
        session.id,
        session.name,
        session.person,
        NoteKind.QUESTION,
        words_for_session(cycle, newest.content, own=not clicked),
        clean_name(newest.name),
        cycle.channel.reply_to(newest),
        cycle.readers.audience,
        bound=not clicked,
    )
    if not clicked:
        return "", act
    owner = clean_name(session.person_name)
    try:
        asks = await asks_owner(cycle, session, act)
    except ChannelError as error:
        raise NotAsked(say("ask_unreachable", owner=owner, session=session.name)) from error
    return say("ask_asked", owner=owner, session=session.name), replace(act, asks=asks)
