"""Answers *why*: where the soul's last reply comes from, or the one at which a person asked by the shortcut.

Where others read along, they are told what all of them may hear; what the person alone may hear goes into their direct
messages. Who used the shortcut is answered there in any case.
"""

from dataclasses import dataclass, replace
from typing import Final

from daemon.core.errors import ChannelError
from daemon.core.perception import AudienceKind, ConversationKey, Modality, Perception, Place
from daemon.core.ports.channel import Room
from daemon.memory.queues.beside import TYPED
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.memory_acts import Asker, SaidInPrivate
from daemon.memory.queues.typed_commands import ASKED_IN
from daemon.memory.queues.why_asked import MESSAGE
from daemon.memory.records import Delivery
from daemon.memory.retrieval.reasons import Ear, WhySaid
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import effect_of_words
from daemon.runtime.people.because import Because
from daemon.runtime.people.own_words import commit_shown

_MOST_WHISPERED: Final = 3  # parts of an answer that reaches nobody's direct messages


@dataclass(frozen=True, slots=True)
class _Answer:
    """What is said here to all who read, and what to the person alone; empty for nothing."""

    here: str = ""
    private: str = ""


async def explain(cycle: Cycle) -> Delivery | None:
    """Answer and commit; returns the first post, claimed for sending.

    Raises StoreError, LostLease, and ReadersChanged where others read along by now.
    """
    services, newest = cycle.services, cycle.newest
    clicked = newest.modality is Modality.DECISION
    alone = cycle.claim.audience.kind is AudienceKind.DM
    said = await _said_here(cycle)
    room = None if alone else await _room_of(cycle)
    ears = [Ear(cycle.claim.conversation, cycle.readers)]
    private = "" if alone else await _told_to(cycle, said, [*ears, *([room.ear] if room else [])])
    answer = _Answer(private=private)
    if not clicked or alone:
        answer = await _where_others_read(cycle, said, ears, private, room)
    await cycle.require_same_readers()
    delivery = await commit_shown(cycle, _effect(cycle, answer, room))
    if clicked and not alone:
        await _point_to(cycle, answer.private, found=room is not None)
    services.emit("memory.explained", trace=cycle.trace_id, clicked=clicked)
    return delivery


@dataclass(frozen=True, slots=True)
class _Private:
    """The direct messages of the person, and who hears what is said there."""

    room: Room
    ear: Ear


async def _said_here(cycle: Cycle) -> str:
    """The id of the reply that is asked about; empty for none."""
    reasons, newest = cycle.services.reasons, cycle.newest
    if TYPED in newest.params:
        return await cycle.services.capabilities.own_things.newest_reply(
            newest.author, str(newest.params.get(ASKED_IN, ""))
        )
    if newest.modality is Modality.DECISION:
        key = cycle.claim.conversation
        return await reasons.reply_posted(key.soul, str(newest.params.get(MESSAGE, "")), key.channel)
    return await reasons.last_reply(cycle.claim.conversation)


async def _room_of(cycle: Cycle) -> _Private | None:
    """The person's direct messages; None where they can't be written to."""
    newest, claim = cycle.newest, cycle.claim
    try:
        room = await cycle.services.capabilities.find_room(newest.author)
    except ChannelError as error:
        cycle.services.emit("memory.no_room", trace=cycle.trace_id, reason=error.message)
        return None
    where = ConversationKey(claim.conversation.soul, claim.conversation.workspace, room.channel)
    there: Perception = replace(newest, conversation=where, audience=room.audience, place=Place.DM)
    return _Private(room, Ear(where, await cycle.services.channels.of(where).readers(there)))


async def _why(cycle: Cycle, reply: str, ears: list[Ear]) -> WhySaid | None:
    return await cycle.services.reasons.why(reply, ears) if reply else None


async def _told_to(cycle: Cycle, reply: str, ears: list[Ear]) -> str:
    """The answer for those who hear it by these ears; the addresses that it names may be linked to."""
    if (why := await _why(cycle, reply, ears)) is None:
        return cycle.words.say("because_no_reply")
    channels = cycle.services.channels
    because = Because(cycle.words, cycle.newest.zone, lambda where, ts: channels.of(where).permalink(where, ts))
    told = await because.told(why)
    cycle.hosts.learn(*because.addresses.values())
    return told


async def _where_others_read(cycle: Cycle, reply: str, ears: list[Ear], private: str, room: _Private | None) -> _Answer:
    """What all who read here may hear, and besides what the person alone may, if that is more."""
    here = await _told_to(cycle, reply, ears)
    if room is None or private == here:
        return _Answer(here)
    return _Answer(f"{here}\n\n{cycle.words.say('because_in_private')}", private)


def _effect(cycle: Cycle, answer: _Answer, room: _Private | None) -> CycleEffect:
    services, claim, newest = cycle.services, cycle.claim, cycle.newest
    acts, rooms = [], cycle.readers.rooms
    if answer.private and room is not None:
        parts = services.channels.of(room.ear.where).split(answer.private, room.ear.where, cycle.hosts)
        acts = [SaidInPrivate(room.room.channel, room.room.audience, parts)]
        rooms = room.ear.readers.rooms
    here = cycle.channel.split(answer.here, claim.conversation, cycle.hosts) if answer.here else ()
    said = effect_of_words(cycle, here, ())
    return replace(
        said,
        acts=tuple(acts),
        asker=Asker(newest.author, claim.conversation, claim.audience, newest.ts),
        rooms=rooms,
    )


async def _point_to(cycle: Cycle, private: str, *, found: bool) -> None:
    """Tell the person, where they asked, that the answer is in their direct messages; or the answer itself."""
    channel, key = cycle.channel, cycle.claim.conversation
    thread = channel.reply_to(cycle.newest)
    parts = (cycle.words.say("own_in_private"),) if found else channel.split(private, key, cycle.hosts)
    for part in parts[:_MOST_WHISPERED]:
        await channel.whisper(key, cycle.newest.author, part, thread=thread)
