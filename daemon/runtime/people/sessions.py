"""Puts messages to sessions of Claude Code without a model, lists sessions, and obeys phrases about keys."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from daemon.core.errors import ChannelError
from daemon.core.fencing import clean_name
from daemon.core.notes import LONGEST, NoteKind, NoteRefused, checked_words
from daemon.core.perception import Place
from daemon.core.phrases import Command, Phrase
from daemon.core.questions import MOST_HOURLY, MOST_WAITING, OVER_MS, BoundThread
from daemon.core.sessions import CodeSession, Visibility, key_of
from daemon.core.telemetry.redaction import remove_keys
from daemon.core.text import KnownHosts, numbered, shortened
from daemon.ism.permission import SHOWN_CAP, code_block, plain_sight
from daemon.memory.shared.keys import KeysEnded, OwnKey
from daemon.memory.shared.question_acts import AskedOwner, PutToSession, Unbound
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import turns_of
from daemon.runtime.people.answers import DaemonAnswer, before_members, dm_of, in_dm, in_slack, phrase
from daemon.runtime.people.own_memory import day_in
from daemon.shared.asking import is_near, nearest
from daemon.shared.who_works import is_of, listed, listed_of

_LONGEST_NAME: Final = 60


@phrase(Command.ASK, Command.HAND, names_sessions=True)
async def ask_session(cycle: Cycle, phrase: Phrase) -> DaemonAnswer:
    """Put a message to a session.

    Only the owner's own words in Slack need no permission. A token or key proves a machine, never a person's will.
    Raises StoreError.
    """
    text, act = await _put(cycle, phrase)
    return DaemonAnswer(text) if act is None else await _put_with(cycle, text, act)


async def _put_with(cycle: Cycle, text: str, act: PutToSession) -> DaemonAnswer:
    """Return the soul's answer, empty for none, with the message to a session and their turns."""
    cycle.paused = await cycle.services.store.standing.paused([cycle.newest.author])
    said = (cycle.says(text, passing=bool(cycle.paused)),) if text else ()
    return DaemonAnswer(text, (act,), (*turns_of(cycle), *said))


async def means_session(cycle: Cycle, phrase: Phrase) -> bool:
    """Return whether the name in a phrase may be that of a session. Else the message is for the soul.

    For readers who aren't full members every name counts as one, to reveal no session. Raises StoreError.
    """
    if cycle.readers.apart or not cycle.readers.members_only:
        return True
    return is_near(phrase.name, await cycle.services.asking.those_to_ask())


def way_to_sessions(
    cycle: Cycle, at_work: Sequence[CodeSession]
) -> Callable[[Phrase], Awaitable[tuple[str, PutToSession | None]]] | None:
    """Return the function that puts plain words to a session at work, None where none may be asked from here."""
    if why_none(cycle) or not any(one.may_be_asked and one.person for one in at_work):
        return None
    return partial(_put, cycle)


class NotAsked(Exception):
    """Nothing goes to a session. The sentence says why."""


async def _put(cycle: Cycle, phrase: Phrase) -> tuple[str, PutToSession | None]:
    """Return the soul's answer, and the message for the session. Raises StoreError."""
    text, act = await _answer(cycle, phrase)
    cycle.services.emit("sessions.asked", command=phrase.command, trace=cycle.trace_id, goes=act is not None)
    return text, act


async def _answer(cycle: Cycle, phrase: Phrase) -> tuple[str, PutToSession | None]:
    newest, kind = cycle.newest, NoteKind.QUESTION if phrase.command is Command.ASK else NoteKind.TASK
    try:
        session = await _session(cycle, phrase.name)
        own = session.person == newest.author
        act = _message(cycle, session, kind, words_for_session(cycle, phrase.words, own=own))
        return (cycle.words.say("ask_put", session=session.name), act) if own else await _asked(cycle, session, act)
    except NotAsked as refused:
        return str(refused), None


def _message(cycle: Cycle, session: CodeSession, kind: NoteKind, words: str, *, bound: bool = False) -> PutToSession:
    newest = cycle.newest
    return PutToSession(
        session.id,
        session.name,
        session.person,
        kind,
        words,
        clean_name(newest.name),
        cycle.channel.reply_to(newest),
        cycle.readers.audience,
        bound=bound,
    )


async def _asked(cycle: Cycle, session: CodeSession, act: PutToSession) -> tuple[str, PutToSession]:
    """Ask the owner of the session for permission. Raises NotAsked where they can't be reached."""
    say, owner = cycle.words.say, clean_name(session.person_name)
    try:
        asks = await _asks_owner(cycle, session, act)
    except ChannelError as error:
        raise NotAsked(say("ask_unreachable", owner=owner, session=session.name)) from error
    return say("ask_asked", owner=owner, session=session.name), replace(act, asks=asks)


def why_none(cycle: Cycle) -> str:
    """Return the sentence by which no session may be asked from here at all, or an empty string."""
    say, newest, readers = cycle.words.say, cycle.newest, cycle.readers
    if newest.place is Place.TERMINAL or key_of(newest.author) is not None:
        return say("ask_in_slack")
    return say("work_not_here") if readers.apart or not readers.members_only else ""


async def session_named(cycle: Cycle, name: str) -> CodeSession:
    """Return the session of that name, if it is there for people here. Raises NotAsked."""
    if why := why_none(cycle):
        raise NotAsked(why)
    sessions = await cycle.services.asking.those_to_ask()
    session = next((one for one in sessions if one.name.casefold() == name.casefold()), None)
    if session is None:
        raise NotAsked(_unknown(cycle, name, nearest(name, sessions)))
    return session


async def require_room(cycle: Cycle, session: CodeSession) -> None:
    """Raise NotAsked where the session may not be asked any more for now."""
    if await cycle.services.store.questions.is_full(session.id):
        say = cycle.words.say
        raise NotAsked(say("ask_full", session=session.name, waiting=MOST_WAITING, hourly=MOST_HOURLY))


async def _session(cycle: Cycle, name: str) -> CodeSession:
    """Return the session of that name, if it may be asked from here now. Raises NotAsked."""
    session = await session_named(cycle, name)
    if not session.person:
        raise NotAsked(cycle.words.say("ask_unowned", session=session.name))
    await require_room(cycle, session)
    return session


def words_for_session(cycle: Cycle, text: str, *, own: bool) -> str:
    """Return the words as the session reads them, short enough to be shown for permission. Raises NotAsked."""
    most = LONGEST if own else SHOWN_CAP
    try:
        words = checked_words(remove_keys(text))
    except NoteRefused as refused:
        raise NotAsked(cycle.words.say("ask_words", most=most)) from refused
    if len(plain_sight(words)) > most:
        raise NotAsked(cycle.words.say("ask_words", most=most))
    return words


def _unknown(cycle: Cycle, name: str, near: Sequence[str]) -> str:
    unknown = cycle.words.say("ask_unknown", session=shortened(name, _LONGEST_NAME))
    names = ", ".join(f"`{one}`" for one in near)
    return f"{unknown} {cycle.words.say('ask_nearest', sessions=names)}" if near else unknown


async def _asks_owner(cycle: Cycle, session: CodeSession, act: PutToSession) -> AskedOwner:
    """Return the question for the owner, in their language: asker, place and words. Raises ChannelError."""
    newest, words = cycle.newest, await cycle.services.words_for(session.person)
    link = "" if newest.place is Place.DM else await cycle.channel.permalink(newest.conversation, newest.ts)
    lines = [
        words.say(
            "ask_may_question" if act.kind is NoteKind.QUESTION else "ask_may_task",
            session=session.name,
            name=act.asker,
            person=newest.author,
            where=words.say(WHERE_ASKED.get(newest.place, "place_elsewhere")),
        ),
        code_block(plain_sight(act.words)),
        words.say("ask_read", name=act.asker) if newest.place is Place.DM else words.say("ask_read_there"),
    ]
    if link:
        lines[-1] = f"{lines[-1]} {link}"
    if session.unwatched:
        lines.append(words.say("ask_unwatched", session=session.name))
    return await asked_in_dm(cycle, session.person, "\n\n".join(lines), link)


async def asked_in_dm(cycle: Cycle, person: str, text: str, link: str) -> AskedOwner:
    """Return a question in the DM of a session's owner. Raises ChannelError."""
    services, dm = cycle.services, await dm_of(cycle, person)
    hosts = KnownHosts(services.settings.link_hosts)
    hosts.learn(link)
    seconds = min(services.settings.approval_seconds, OVER_MS / 1000)
    return AskedOwner(person, dm.where.channel, dm.audience, dm.split(cycle, text, hosts), seconds)


WHERE_ASKED: Final = {
    Place.DM: "ask_in_dm",
    Place.PUBLIC_CHANNEL: "place_public",
    Place.PRIVATE_CHANNEL: "place_private",
}
"""The sentence that names the kind of room in which something was asked."""


@phrase(Command.SESSIONS, Command.WORKS_ON, needs={before_members: "work_not_here"}, names_sessions=True)
async def show_who_works(cycle: Cycle, phrase: Phrase) -> str:
    """List who works on what, if all readers may see it. Raises StoreError."""
    sessions = await cycle.services.asking.living()
    if phrase.command is Command.WORKS_ON:
        return listed_of(phrase.words, sessions, cycle.words)
    return listed(sessions, cycle.words)


async def asks_for_sessions(cycle: Cycle, phrase: Phrase) -> bool:
    """Return whether the name in a phrase is a mention, or leads to a session. Else it may be a team or a topic.

    For readers who aren't full members every name counts as one, to reveal no session. Raises StoreError.
    """
    if phrase.words.startswith("<@") or not cycle.readers.members_only:
        return True
    return any(is_of(one, phrase.words) for one in await cycle.services.asking.living())


async def say_to_session(cycle: Cycle, bound: BoundThread) -> DaemonAnswer:
    """Put the message to the session.

    Raises StoreError, and NotDelivered while Slack can't name the owner or the readers.
    """
    cycle.require_known_readers()
    session = await cycle.services.store.sessions.one(bound.session)
    if session is None or not await _still_takes(cycle, session, bound):
        return DaemonAnswer(cycle.words.say("bound_lost"), (Unbound(bound),))
    try:
        text, act = await _bound_words_put(cycle, session)
    except NotAsked as refused:
        return DaemonAnswer(str(refused))
    cycle.services.emit("sessions.told", trace=cycle.trace_id, asks=act.asks is not None)
    return await _put_with(cycle, text, act)


async def _still_takes(cycle: Cycle, session: CodeSession, bound: BoundThread) -> bool:
    if session.visibility is Visibility.HIDDEN or session.person != bound.person:
        return False
    if not session.person or session.person == cycle.newest.author:
        return True
    owner = await cycle.channel.admit(replace(cycle.newest, author=session.person))
    return owner.admitted


async def _bound_words_put(cycle: Cycle, session: CodeSession) -> tuple[str, PutToSession]:
    """Return the soul's answer, mostly empty, and the message for the session. Raises NotAsked."""
    newest = cycle.newest
    if why := why_none(cycle):
        raise NotAsked(why)
    await require_room(cycle, session)
    own = bool(session.person) and session.person == newest.author
    clicked = session.unwatched and not own
    if clicked and not session.person:
        raise NotAsked(cycle.words.say("ask_unowned", session=session.name))
    words = words_for_session(cycle, newest.content, own=not clicked)
    act = _message(cycle, session, NoteKind.QUESTION, words, bound=not clicked)
    return await _asked(cycle, session, act) if clicked else ("", act)


_OF_KEYS: Final = (Command.MY_KEYS, Command.END_KEY, Command.END_KEYS)


@phrase(*_OF_KEYS, needs={in_slack: "keys_in_slack", in_dm: "keys_in_dm"})
async def handle_keys(cycle: Cycle, phrase: Phrase) -> DaemonAnswer:
    """Answer about a person's keys. Raises StoreError."""
    words, keys = cycle.words, await cycle.services.store.pairings.keys_of(cycle.newest.author)
    if phrase.command is Command.END_KEYS:
        # Also without any: a key that was just allowed may be about to be made.
        text = words.say("keys_all_ended", count=len(keys)) if keys else words.say("keys_none")
        return DaemonAnswer(text, (KeysEnded((), all_=True),))
    if phrase.command is Command.END_KEY:
        found = next((one for one in keys if one.number == phrase.number), None)
        if found is None:
            return DaemonAnswer(words.say("keys_no_number", number=phrase.number))
        ended = words.say("keys_ended", number=found.number, machine=_machine(cycle, found))
        return DaemonAnswer(ended, (KeysEnded((found.id,)),))
    if not keys:
        return DaemonAnswer(words.say("keys_none"))
    lines = [_line(cycle, one) for one in keys]
    return DaemonAnswer("\n".join((words.say("keys_head"), *lines, words.say("keys_how", number=keys[0].number))))


def _line(cycle: Cycle, key: OwnKey) -> str:
    zone, say = cycle.newest.zone, cycle.words.say
    made, machine = day_in(key.made_ms, zone), _machine(cycle, key)
    if key.seen_ms is None:
        return say("keys_unused", number=numbered(key.number), machine=machine, made=made)
    return say("keys_line", number=numbered(key.number), machine=machine, made=made, used=day_in(key.seen_ms, zone))


def _machine(cycle: Cycle, key: OwnKey) -> str:
    name = plain_sight(clean_name(key.machine)).replace("`", "'")
    return f"`{name}`" if key.machine else cycle.words.say("keys_unnamed")
