"""Obeys a phrase with one answer, without a model. Answers about a person's memory are for that person alone."""

import hashlib
import secrets
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from daemon.core.initiative import INVITING
from daemon.core.perception import AudienceKind, Modality, Place, Readers
from daemon.core.phrases import Command, Phrase, phrase_in, phrase_said, typed
from daemon.core.soul_names import souls_named
from daemon.core.text import one_line
from daemon.memory.knowledge.records.kinds import Fact
from daemon.memory.people.erasure import Spared
from daemon.memory.people.standing import Belief
from daemon.memory.queues.approvals import NewApproval
from daemon.memory.queues.memory_acts import (
    CONFIRM_MS,
    FORGETTING,
    AskedToForget,
    BeliefForgotten,
    Corrected,
    Forgotten,
    LastForgotten,
    MemoryAct,
    Paused,
    SaidInPrivate,
)
from daemon.memory.queues.room_ways import JOINED, WAY_SET
from daemon.memory.queues.typed_commands import HOME, MESSAGE, TYPED
from daemon.memory.records import Delivery, ProcessState, Turn, VisitState
from daemon.mind.taking_effect import own_words
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import turns_of
from daemon.runtime.people.answers import DaemonAnswer, Dm, by_person, dm_of, phrase
from daemon.runtime.people.binding import bind_here, decides_on_machine, pair, unbind_here
from daemon.runtime.people.home import handle_home, introduce, show_help, status_of_person, tell_what_stopped
from daemon.runtime.people.inviting import decline_unasked, handle_following_up, says_what_is_unwanted
from daemon.runtime.people.own_memory import OwnAnswer, OwnMemory
from daemon.runtime.people.own_words import explain
from daemon.runtime.people.reminders import handle_own_reminders, reminders_of_person, show_there
from daemon.runtime.people.rooms import hand_over, show_way, tell_way
from daemon.runtime.people.sessions import ask_session, asks_for_sessions, handle_keys, means_session, show_who_works

_LONGEST_CORRECTION: Final = 500
_LONGEST_QUOTED: Final = 100
_TO_WHO_SPEAKS: Final = (Command.WHY_SAID, Command.REMEMBER, Command.HELP)
"""The phrases for the speaker of the thread, in a bound thread the session, unless marked with a `!`."""


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


async def obey(cycle: Cycle, phrase: Phrase) -> Delivery | None:
    """Answer a phrase and commit. See `Obeyed.obey`."""
    return await _HANDLERS[phrase.command].obey(cycle, phrase)


_OF_MEMORY: Final = (
    *(Command.STATUS, Command.REMINDERS, Command.KNOWN, Command.WHY, Command.FORGET, Command.WRONG),
    *(Command.REMEMBER, Command.FORGET_THAT, Command.FORGET_LAST, Command.FORGET_ME, Command.FORGET_ME_SURELY),
    *(Command.PAUSE, Command.RESUME, Command.EXPORT),
)
"""The phrases about a person's own memory, whose answers are for that person alone."""


@phrase(*_OF_MEMORY, needs={by_person: "own_way"})
async def answer_in_private(cycle: Cycle, phrase: Phrase) -> DaemonAnswer:
    """Answer here if the person alone reads it, else in their DM. Raises StoreError, and ChannelError without one."""
    claim, newest = cycle.claim, cycle.newest
    alone = claim.audience.kind is AudienceKind.DM
    room = Dm(claim.conversation, claim.audience, here=True) if alone else await dm_of(cycle, newest.author)
    readers = await room.readers(cycle)
    if (tell := _OF_PERSON.get(phrase.command)) is not None:
        return _in_room(cycle, room, readers, OwnAnswer(await tell(cycle)))
    if phrase.command is Command.REMEMBER:
        return _in_room(cycle, room, readers, await _remember(cycle, phrase))
    own = OwnMemory(cycle.services.store.known, newest.author, readers, room.where, newest.zone, cycle.words)
    return _in_room(cycle, room, readers, await _answer(cycle, phrase, own))


async def _answer(cycle: Cycle, phrase: Phrase, own: OwnMemory) -> OwnAnswer:
    if phrase.command in _WITHOUT_LOOKING:
        sentence, acts, asks = _WITHOUT_LOOKING[phrase.command]
        return OwnAnswer(cycle.words.say(sentence), acts, asks=asks)
    match phrase.command:
        case Command.KNOWN:
            return await own.listed()
        case Command.FORGET_THAT:
            return await _forget_that(cycle, own)
        case Command.EXPORT:
            return OwnAnswer(cycle.words.say("own_export"), file=await own.exported(cycle.services.clock.now_ms()))
        case Command.FORGET_ME_SURELY:
            return await _forget(cycle)
        case _:
            each = [replace(phrase, number=number) for number in (phrase.number, *phrase.more)]
            answers = [await _about_number(cycle, one, own) for one in each]
            text, acts = "\n".join(one.text for one in answers), tuple(act for one in answers for act in one.acts)
            return replace(answers[0], text=text, acts=acts)


async def _about_number(cycle: Cycle, phrase: Phrase, own: OwnMemory) -> OwnAnswer:
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


async def _forget_that(cycle: Cycle, own: OwnMemory) -> OwnAnswer:
    """Forget what was said or shown last in this talk: the message, or the fact that it asked for. Else ask which."""
    say, now = cycle.words.say, cycle.services.clock.now_ms()
    last = await cycle.services.store.known.last_said(own.person, cycle.claim.conversation)
    if last.is_newest and not last.is_followed:
        return OwnAnswer(say("own_forgotten_that"), (LastForgotten(),))
    asked, before = await own.last_asked(), phrase_in(last.text)
    at_once = not last.is_followed and now - last.at_ms < CONFIRM_MS
    if asked and before and at_once and (before.command, before.number) == (Command.WHY, asked[0]):
        return _forgotten(cycle, asked[1])
    lines = [say("own_which")]
    if asked is not None:
        lines.append(say("own_which_fact", number=asked[0], fact=one_line(asked[1].text)))
    if last.words:
        lines.append(say("own_which_message", words=one_line(last.words)[:_LONGEST_QUOTED]))
    return OwnAnswer("\n".join(lines))


def _forgotten(cycle: Cycle, known: Fact | Belief) -> OwnAnswer:
    act = Forgotten(known.id) if isinstance(known, Fact) else BeliefForgotten(known.id)
    return OwnAnswer(cycle.words.say("own_forgotten_fact", fact=one_line(known.text)), (act,))


async def _remember(cycle: Cycle, phrase: Phrase) -> OwnAnswer:
    noted = own_words(phrase.words)
    if noted is None or cycle.newest.author in await cycle.services.store.standing.paused([cycle.newest.author]):
        return OwnAnswer(cycle.words.say("own_remember_paused"))
    whole = len(noted.content) >= len(one_line(phrase.words).rstrip(" ."))
    return OwnAnswer(
        cycle.words.say("own_remembered" if whole else "own_remembered_cut", words=noted.content), (noted,), heard=True
    )


async def _about_one(cycle: Cycle, phrase: Phrase, own: OwnMemory) -> OwnAnswer:
    """Answer about one line of the list that the person saw last."""
    say, number = cycle.words.say, phrase.number
    found = await own.numbered(number)
    if found is None:
        return OwnAnswer(say("own_no_number", number=number))
    fact, shown = found
    if phrase.command is Command.WHY:
        return await own.why(number, fact, shown)
    if phrase.command is Command.FORGET:
        return _forgotten(cycle, fact)
    if not (words := one_line(phrase.words)[:_LONGEST_CORRECTION].strip()):
        return OwnAnswer(say("own_wrong_how", number=number))
    corrected = say("own_corrected", number=number, words=words)
    if cycle.newest.author in await cycle.services.store.standing.paused([cycle.newest.author]):
        return OwnAnswer(say("own_wrong_paused", number=number))
    return OwnAnswer(corrected, (Corrected(fact.id, words),), heard=True, words=words)


def _about_belief(cycle: Cycle, phrase: Phrase, own: OwnMemory, belief: Belief, shown: tuple[str, ...]) -> OwnAnswer:
    """Answer about a belief, which is no fact: it can't be corrected, only forgotten."""
    if phrase.command is Command.WHY:
        return own.why_believed(phrase.number, belief, shown)
    if phrase.command is Command.FORGET:
        return _forgotten(cycle, belief)
    return OwnAnswer(cycle.words.say("own_belief_wrong", fact=one_line(belief.text)), (BeliefForgotten(belief.id),))


async def _forget(cycle: Cycle) -> OwnAnswer:
    """Forget the person, once they confirmed it in time. The answer is the last record of it."""
    services, newest = cycle.services, cycle.newest
    say = cycle.words.say
    if newest.modality is Modality.DECISION and not newest.params.get("approved"):
        if newest.params.get("expired"):
            return OwnAnswer("")
        return OwnAnswer(say("own_not_forgotten"), (AskedToForget(waits=False),))
    spared = Spared(str(cycle.claim.conversation), newest.id)
    in_time = newest.modality is Modality.DECISION or await services.store.standing.may_confirm(newest.author)
    if not in_time and not await services.forgetting.knows(spared):
        return OwnAnswer(say("own_forget_me"), (AskedToForget(),), asks=True)
    by_words = newest.ts if newest.modality is Modality.WORDS else ""  # the ts of a click is by our clock
    order = await services.forgetting.ask(cycle.claim.conversation.workspace, newest.author, spared, by_words)
    await services.forgetting.finish(order)
    return OwnAnswer(say("own_forgotten"), anew=True)


def _in_room(cycle: Cycle, room: Dm, readers: Readers, own: OwnAnswer) -> DaemonAnswer:
    """Return the answer in the conversation, and what of it is said in the DM of the person."""
    newest, text, acts, say = cycle.newest, own.text, own.acts, cycle.words.say
    name = f"memory-{hashlib.sha256(newest.id.encode()).hexdigest()[:10]}.json" if own.file else ""
    if own.file and newest.place is Place.TERMINAL:
        text = f"{text}\n\n```json\n{own.file}\n```"
    elif own.file:
        thread = cycle.channel.reply_to(newest) if room.here else ""
        acts = (*acts, SaidInPrivate(room.where.channel, room.audience, (own.file,), name, thread))
    if not room.here:
        acts = (*acts, room.said(cycle, text))
        text = say("own_in_private")
    more: dict[str, object] = {"rooms": readers.rooms}
    if own.asks and room.here and newest.place is Place.DM:
        more["approval"] = _question(newest.author, cycle.services.clock.now_ms())
    if own.anew:
        more |= {"state": ProcessState(), "visit_state": VisitState(), "zones": {}, "rooms": frozenset()}
    return DaemonAnswer(text, acts, _heard(cycle, room, own) if own.heard else (), more, here=room.here)


def _heard(cycle: Cycle, room: Dm, answer: OwnAnswer) -> tuple[Turn, ...]:
    """Return the person's words and the answer as turns. A correction's phrase is not kept, only its words."""
    said = tuple(replace(one, body=answer.words or one.body) for one in turns_of(cycle))
    told = cycle.says(answer.text, passing=cycle.newest.author in cycle.paused)
    return (*said, told) if room.here else said


def _question(person: str, now_ms: int) -> NewApproval:
    return NewApproval(
        id=f"{FORGETTING}{secrets.token_hex(8)}",
        tool=Command.FORGET_ME.value,
        arguments={},
        asked=(person,),
        expires_ms=now_ms + CONFIRM_MS,
    )


_HANDLERS: Final = {
    command: one
    for one in (
        *(answer_in_private, show_help, tell_what_stopped, handle_home, introduce, explain, show_way, tell_way),
        *(show_who_works, ask_session, handle_keys, bind_here, unbind_here, pair, hand_over),
        *(handle_own_reminders, show_there, decline_unasked, handle_following_up),
    )
    for command in one.commands
}
"""The handler of each phrase."""
