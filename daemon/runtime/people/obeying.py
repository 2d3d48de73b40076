"""Obeys a phrase with one answer, without a model. Answers about a person's memory are for that person alone."""

import hashlib
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from daemon.core.initiative import INVITING
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Modality, Place, Readers
from daemon.core.phrases import AS_MESSAGE, Command, Phrase, phrase_in, phrase_said, typed
from daemon.core.sessions import key_of
from daemon.core.soul_names import souls_named
from daemon.core.text import one_line
from daemon.memory.knowledge.records.kinds import Fact
from daemon.memory.people.erasure import Spared
from daemon.memory.people.standing import Belief
from daemon.memory.queues.approvals import NewApproval
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.memory_acts import (
    CONFIRM_MS,
    FORGETTING,
    AskedToForget,
    Asker,
    BeliefForgotten,
    Corrected,
    Forgotten,
    LastForgotten,
    MemoryAct,
    Paused,
    SaidInPrivate,
)
from daemon.memory.queues.room_ways import JOINED, WAY_SET
from daemon.memory.queues.typed_commands import HOME, MESSAGE, STOPS, TYPED
from daemon.memory.records import Delivery, ProcessState, Speaks, Turn, VisitState
from daemon.mind.taking_effect import own_words
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import effect_of_words, turns_of
from daemon.runtime.people.binding import bind_here, decides_on_machine, pair, unbind_here
from daemon.runtime.people.following_up import handle_following_up
from daemon.runtime.people.helping import show_help, status_of_person
from daemon.runtime.people.home import handle_home, introduce
from daemon.runtime.people.own_memory import OwnMemory
from daemon.runtime.people.own_words import commit_shown, explain, say
from daemon.runtime.people.promises import decline_unasked, says_what_is_unwanted
from daemon.runtime.people.reminders import handle_own_reminders, reminders_of_person, show_there
from daemon.runtime.people.rooms import hand_over, show_way, tell_way
from daemon.runtime.people.sessions import ask_session, asks_for_sessions, handle_keys, means_session, show_who_works

_LONGEST_CORRECTION: Final = 500
_LONGEST_QUOTED: Final = 100
_TO_WHO_SPEAKS: Final = (Command.WHY_SAID, Command.REMEMBER, Command.HELP)
"""The phrases for the speaker of the thread, in a bound thread the session, unless marked with a `!`."""
_OF_SESSIONS: Final = (
    *(Command.HELP, Command.INTRODUCE, Command.SESSIONS, Command.WORKS_ON),
    *(Command.ASK, Command.HAND, Command.BIND, Command.BIND_FOR_ALL),
)
"""The phrases whose answer names sessions, or says that there are some."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer, and the acts stored with it.

    `file` is the content of a file. `asks` puts a question with buttons below. `heard` keeps the message as a turn, or
    only its `words`. `anew`: the person was forgotten, and the conversation starts over.
    """

    text: str
    acts: tuple[MemoryAct, ...] = ()
    file: str = ""
    asks: bool = False
    heard: bool = False
    words: str = ""
    anew: bool = False


@dataclass(frozen=True, slots=True)
class _Room:
    """The conversation in which the person reads the answer. `here`: the conversation of the question."""

    where: ConversationKey
    audience: Audience
    readers: Readers
    here: bool


async def phrase_of(cycle: Cycle) -> Phrase | None:
    """Return the phrase that the cycle's one message is, or that a button or shortcut means. Raises StoreError."""
    newest = cycle.newest
    if HOME in newest.params:
        return _pressed(cycle)
    if newest.modality is Modality.WORDS:
        phrase = phrase_said(newest) if len(cycle.messages) == 1 else None
        to_session = cycle.for_session is not None and phrase is not None and not phrase.marked
        if phrase is None or (to_session and phrase.command in _TO_WHO_SPEAKS):
            return None
        return phrase if await _is_for_the_daemon(cycle, phrase) else None
    return _pressed(cycle) if newest.modality is Modality.DECISION else None


def _pressed(cycle: Cycle) -> Phrase | None:
    """Return the phrase of a button, a shortcut or a slash command."""
    params = cycle.newest.params
    if HOME in params:
        return Phrase(Command.HOME, words=str(params[HOME]))
    if JOINED in params or WAY_SET in params:
        return Phrase(Command.INTRODUCE if JOINED in params else Command.CHANNEL_SET)
    if TYPED in params:
        return typed(cycle.newest.content)
    asked = str(params.get("approval", ""))
    if asked.startswith((FORGETTING, INVITING)):
        decided = Command.FOLLOW_UP_ON if params.get("approved") else Command.FOLLOW_UP_OFF
        return Phrase(Command.FORGET_ME_SURELY if asked.startswith(FORGETTING) else decided)
    if decides_on_machine(cycle):
        return Phrase(Command.PAIR)
    return Phrase(Command.WHY_SAID) if MESSAGE in params else None


async def _is_for_the_daemon(cycle: Cycle, phrase: Phrase) -> bool:
    if phrase.command is Command.WORKS_ON:
        soul = cycle.soul
        is_soul = bool(souls_named(phrase.words, {soul.name: soul.display_name}))
        return not is_soul and await asks_for_sessions(cycle, phrase)
    if phrase.command in (Command.ASK, Command.HAND, Command.BIND, Command.BIND_FOR_ALL):
        return await means_session(cycle, phrase)
    if phrase.command is Command.NOT_NOW:
        return await says_what_is_unwanted(cycle)
    return phrase.command is not Command.REMEMBER or _may_note(cycle, phrase)


def _may_note(cycle: Cycle, phrase: Phrase) -> bool:
    return cycle.claim.audience.kind is AudienceKind.DM and own_words(phrase.words) is not None


def _what_stopped(cycle: Cycle) -> str:
    count = cycle.newest.params.get(STOPS, 0)
    if not count:
        return cycle.words.say("stop_nothing")
    return cycle.words.say("stop_one") if count == 1 else cycle.words.say("stop_several", count=count)


async def obey(cycle: Cycle, phrase: Phrase) -> Delivery | None:
    """Answer a phrase and commit. Return the first post, claimed for sending.

    Raises StoreError, and what a commit raises. Raises ChannelError when the person's DM can't be found now. Raises
    ReadersUnknown while it is unknown who would read sessions' names.
    """
    if phrase.command in _OF_SESSIONS:
        cycle.require_known_readers()
    if TYPED in cycle.newest.params and phrase.command in AS_MESSAGE:
        return await say(cycle, cycle.words.say("command_as_message"))
    if (beside := _BESIDE_MEMORY.get(phrase.command)) is not None:
        return await beside(cycle, phrase)
    if key_of(cycle.newest.author) is not None:  # a session is no person: nothing is known of it, or forgotten for it
        return await say(cycle, cycle.words.say("own_way"))
    room, services = await _room(cycle), cycle.services
    answer = await _answer_in(cycle, phrase, room)
    effect = _effect(cycle, room, answer)
    if room.here:
        await cycle.require_same_readers()
    delivery = await commit_shown(cycle, effect)
    services.emit("memory.asked", command=phrase.command, trace=cycle.trace_id)
    return delivery


async def _answer_in(cycle: Cycle, phrase: Phrase, room: _Room) -> _Answer:
    if (tell := _OF_PERSON.get(phrase.command)) is not None:
        return _Answer(await tell(cycle))
    if phrase.command is Command.REMEMBER:
        return await _remember(cycle, phrase)
    newest = cycle.newest
    own = OwnMemory(cycle.services.store.known, newest.author, room.readers, room.where, newest.zone, cycle.words)
    return await _answer(cycle, phrase, own)


_BESIDE_MEMORY: Final[Mapping[Command, Callable[[Cycle, Phrase], Awaitable[Delivery | None]]]] = {
    Command.HELP: show_help,
    Command.HOME: handle_home,
    Command.INTRODUCE: introduce,
    Command.CHANNEL: show_way,
    Command.CHANNEL_SET: tell_way,
    Command.WHY_SAID: lambda cycle, _: explain(cycle),
    Command.SESSIONS: show_who_works,
    Command.WORKS_ON: show_who_works,
    Command.HAND_OVER: lambda cycle, phrase: hand_over(cycle, phrase.words),
    Command.ASK: ask_session,
    Command.HAND: ask_session,
    Command.BIND: bind_here,
    Command.BIND_FOR_ALL: bind_here,
    Command.UNBIND: lambda cycle, _: unbind_here(cycle),
    Command.PAIR: pair,
    Command.MY_KEYS: handle_keys,
    Command.END_KEY: handle_keys,
    Command.END_KEYS: handle_keys,
    Command.STOP: lambda cycle, _: say(cycle, _what_stopped(cycle)),
    Command.CANCEL_REMINDER: handle_own_reminders,
    Command.MOVE_REMINDER: handle_own_reminders,
    Command.RESUME_REMINDER: handle_own_reminders,
    Command.SHOW_THERE: show_there,
    Command.NOT_NOW: decline_unasked,
    Command.FOLLOW_UP_ON: handle_following_up,
    Command.FOLLOW_UP_OFF: handle_following_up,
    Command.FOLLOW_UP_STATUS: handle_following_up,
}
"""The phrases that do not concern a person's own memory."""


async def _room(cycle: Cycle) -> _Room:
    """Return the conversation itself if the person alone reads it, else the person's DM."""
    claim, newest = cycle.claim, cycle.newest
    if claim.audience.kind is AudienceKind.DM:
        return _Room(claim.conversation, claim.audience, cycle.readers, here=True)
    found = await cycle.services.capabilities.find_room(newest.author)
    where = ConversationKey(claim.conversation.soul, claim.conversation.workspace, found.channel)
    there = replace(newest, conversation=where, audience=found.audience, place=Place.DM)
    readers = await cycle.services.channels.of(where).readers(there)
    return _Room(where, found.audience, readers, here=False)


async def _answer(cycle: Cycle, phrase: Phrase, own: OwnMemory) -> _Answer:
    if phrase.command in _WITHOUT_LOOKING:
        sentence, acts, asks = _WITHOUT_LOOKING[phrase.command]
        return _Answer(cycle.words.say(sentence), acts, asks=asks)
    match phrase.command:
        case Command.KNOWN:
            answer = await own.listed()
            return _Answer(answer.text, answer.acts)
        case Command.FORGET_THAT:
            return await _forget_that(cycle, own)
        case Command.EXPORT:
            return _Answer(cycle.words.say("own_export"), file=await own.exported(cycle.services.clock.now_ms()))
        case Command.FORGET_ME_SURELY:
            return await _forget(cycle)
        case _:
            each = [replace(phrase, number=number) for number in (phrase.number, *phrase.more)]
            answers = [await _about_number(cycle, one, own) for one in each]
            text, acts = "\n".join(one.text for one in answers), tuple(act for one in answers for act in one.acts)
            return replace(answers[0], text=text, acts=acts)


async def _about_number(cycle: Cycle, phrase: Phrase, own: OwnMemory) -> _Answer:
    held = await own.believed(phrase.number)
    return await _about_one(cycle, phrase, own) if held is None else _about_belief(cycle, phrase, own, *held)


_OF_PERSON: Final = {Command.STATUS: status_of_person, Command.REMINDERS: reminders_of_person}
_WITHOUT_LOOKING: Final[Mapping[Command, tuple[str, tuple[MemoryAct, ...], bool]]] = {
    Command.PAUSE: ("own_paused", (Paused(paused=True),), False),
    Command.RESUME: ("own_resumed", (Paused(paused=False),), False),
    Command.FORGET_LAST: ("own_forgotten_that", (LastForgotten(),), False),
    Command.FORGET_ME: ("own_forget_me", (AskedToForget(),), True),
}
"""The sentence, the acts stored with it, and whether a question with buttons follows."""


async def _forget_that(cycle: Cycle, own: OwnMemory) -> _Answer:
    """Forget what was said or shown last in this talk: the message, or the fact that it asked for. Else ask which."""
    say, now = cycle.words.say, cycle.services.clock.now_ms()
    last = await cycle.services.store.known.last_said(own.person, cycle.claim.conversation)
    if last.is_newest and not last.is_followed:
        return _Answer(say("own_forgotten_that"), (LastForgotten(),))
    asked, before = await own.last_asked(), phrase_in(last.text)
    at_once = not last.is_followed and now - last.at_ms < CONFIRM_MS
    if asked and before and at_once and (before.command, before.number) == (Command.WHY, asked[0]):
        return _forgotten(cycle, asked[1])
    lines = [say("own_which")]
    if asked is not None:
        lines.append(say("own_which_fact", number=asked[0], fact=one_line(asked[1].text)))
    if last.words:
        lines.append(say("own_which_message", words=one_line(last.words)[:_LONGEST_QUOTED]))
    return _Answer("\n".join(lines))


def _forgotten(cycle: Cycle, known: Fact | Belief) -> _Answer:
    act = Forgotten(known.id) if isinstance(known, Fact) else BeliefForgotten(known.id)
    return _Answer(cycle.words.say("own_forgotten_fact", fact=one_line(known.text)), (act,))


async def _remember(cycle: Cycle, phrase: Phrase) -> _Answer:
    noted = own_words(phrase.words)
    if noted is None or cycle.newest.author in await cycle.services.store.standing.paused([cycle.newest.author]):
        return _Answer(cycle.words.say("own_remember_paused"))
    whole = len(noted.content) >= len(one_line(phrase.words).rstrip(" ."))
    return _Answer(
        cycle.words.say("own_remembered" if whole else "own_remembered_cut", words=noted.content), (noted,), heard=True
    )


async def _about_one(cycle: Cycle, phrase: Phrase, own: OwnMemory) -> _Answer:
    """Answer about one line of the list that the person saw last."""
    say, number = cycle.words.say, phrase.number
    found = await own.numbered(number)
    if found is None:
        return _Answer(say("own_no_number", number=number))
    fact, shown = found
    if phrase.command is Command.WHY:
        answer = await own.why(number, fact, shown)
        return _Answer(answer.text, answer.acts)
    if phrase.command is Command.FORGET:
        return _forgotten(cycle, fact)
    if not (words := one_line(phrase.words)[:_LONGEST_CORRECTION].strip()):
        return _Answer(say("own_wrong_how", number=number))
    corrected = say("own_corrected", number=number, words=words)
    if cycle.newest.author in await cycle.services.store.standing.paused([cycle.newest.author]):
        return _Answer(say("own_wrong_paused", number=number))
    return _Answer(corrected, (Corrected(fact.id, words),), heard=True, words=words)


def _about_belief(cycle: Cycle, phrase: Phrase, own: OwnMemory, belief: Belief, shown: tuple[str, ...]) -> _Answer:
    """Answer about a belief, which is no fact: it can't be corrected, only forgotten."""
    if phrase.command is Command.WHY:
        answer = own.why_believed(phrase.number, belief, shown)
        return _Answer(answer.text, answer.acts)
    if phrase.command is Command.FORGET:
        return _forgotten(cycle, belief)
    return _Answer(cycle.words.say("own_belief_wrong", fact=one_line(belief.text)), (BeliefForgotten(belief.id),))


async def _forget(cycle: Cycle) -> _Answer:
    """Forget the person, once they confirmed it in time. The answer is the last record of it."""
    services, newest = cycle.services, cycle.newest
    say = cycle.words.say
    if newest.modality is Modality.DECISION and not newest.params.get("approved"):
        if newest.params.get("expired"):
            return _Answer("")
        return _Answer(say("own_not_forgotten"), (AskedToForget(waits=False),))
    spared = Spared(str(cycle.claim.conversation), newest.id)
    in_time = newest.modality is Modality.DECISION or await services.store.standing.may_confirm(newest.author)
    if not in_time and not await services.forgetting.knows(spared):
        return _Answer(say("own_forget_me"), (AskedToForget(),), asks=True)
    by_words = newest.ts if newest.modality is Modality.WORDS else ""  # the ts of a click is by our clock
    order = await services.forgetting.ask(cycle.claim.conversation.workspace, newest.author, spared, by_words)
    await services.forgetting.finish(order)
    return _Answer(say("own_forgotten"), anew=True)


def _effect(cycle: Cycle, room: _Room, answer: _Answer) -> CycleEffect:
    services, newest, claim = cycle.services, cycle.newest, cycle.claim
    text, acts, say = answer.text, answer.acts, cycle.words.say
    name = f"memory-{hashlib.sha256(newest.id.encode()).hexdigest()[:10]}.json" if answer.file else ""
    if answer.file and newest.place is Place.TERMINAL:
        text = f"{text}\n\n```json\n{answer.file}\n```"
    elif answer.file:
        thread = cycle.channel.reply_to(newest) if room.here else ""
        acts = (*acts, SaidInPrivate(room.where.channel, room.audience, (answer.file,), name, thread))
    if not room.here:
        parts = services.channels.of(room.where).split(text, room.where, cycle.hosts)
        acts = (*acts, SaidInPrivate(room.where.channel, room.audience, parts))
        text = say("own_in_private")
    turns = _heard(cycle, room, answer) if answer.heard else ()
    effect = replace(
        effect_of_words(cycle, cycle.channel.split(text, claim.conversation, cycle.hosts) if text else (), turns),
        acts=acts,
        asker=Asker(newest.author, claim.conversation, claim.audience, newest.ts),
        rooms=room.readers.rooms,
    )
    if answer.asks and room.here and newest.place is Place.DM:
        effect = replace(effect, approval=_question(newest.author, services.clock.now_ms()))
    if answer.anew:
        effect = replace(effect, state=ProcessState(), visit_state=VisitState(), zones={}, rooms=frozenset())
    return effect


def _heard(cycle: Cycle, room: _Room, answer: _Answer) -> tuple[Turn, ...]:
    """Return the person's words and the answer as turns. A correction's phrase is not kept, only its words."""
    soul, newest = cycle.soul, cycle.newest
    said = tuple(replace(one, body=answer.words or one.body) for one in turns_of(cycle))
    passing = newest.author in cycle.paused
    told = Turn(Speaks.SOUL, soul.name, soul.display_name, newest.ts, answer.text, passing=passing)
    return (*said, told) if room.here else said


def _question(person: str, now_ms: int) -> NewApproval:
    return NewApproval(
        id=f"{FORGETTING}{secrets.token_hex(8)}",
        tool=Command.FORGET_ME.value,
        arguments={},
        asked=(person,),
        expires_ms=now_ms + CONFIRM_MS,
    )
