"""What repeats for a person comes up only where it still may, and a digest is made of its channel's own words.

Where the soul or the person is not in the channel any more, or it is archived, it is paused. Its person hears so once,
in their direct messages, and also where their digest ended with the message that asked for it.
"""

from dataclasses import dataclass, replace
from typing import Final

from daemon.core.errors import ChannelError, ChannelRefused
from daemon.core.perception import ConversationKey, Modality, Perception, Place
from daemon.core.reminder_words import time_in
from daemon.core.timetable import platform_time
from daemon.memory.queues.asking_messages import WITHDRAWN
from daemon.memory.queues.intention_rows import DIGEST, DUE_OF, Intention
from daemon.memory.queues.memory_acts import MemoryAct, SaidInPrivate
from daemon.memory.queues.own_reminders import DigestPosted, Pause, ReminderPaused
from daemon.memory.records import Delivery, Speaks, Turn
from daemon.mind.steps.digest import digest, talk_of_room
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import effect_of_words
from daemon.runtime.people.own_reminders import room_name

_WHY: Final[dict[str, Pause]] = {"not_there": "owner_left", "guest": "owner_left", "is_archived": "archived"}
_SENTENCES: Final[dict[Pause, str]] = {
    "not_in_channel": "reminder_lost",
    "archived": "reminder_archived",
    "owner_left": "reminder_left",
}
_ROOM_REFUSED: Final = frozenset({"unknown_channel", "shared_channel"})
_ALONE: Final = (Place.DM, Place.TERMINAL)


@dataclass(frozen=True, slots=True)
class BroughtUp:
    """What became of a due event that the soul does not think about; `delivery` is its first post, if there is one."""

    delivery: Delivery | None


async def bring_up_apart(cycle: Cycle) -> BroughtUp | None:
    """Pause what may come up no more, or post a digest; None where the soul brings it up in its own words.

    Raises StoreError, ModelError, LostLease, and ReadersChanged where others read along by now.
    """
    due = await _due(cycle, cycle.newest)
    if due is None:
        return None
    if due.state == "cancelled":
        return BroughtUp(await _end_cancelled(cycle, due, cycle.newest))
    if (why := await _why_lost(cycle, due)) is not None:
        return BroughtUp(await _pause(cycle, due, why))
    return BroughtUp(await _post_digest(cycle, due)) if due.errand == DIGEST else None


async def pause_refused(cycle: Cycle) -> BroughtUp | None:
    """Pause what fell due in a room in which the gate lets no word through; None for anything else."""
    refused = cycle.claim.messages[-1] if cycle.claim.messages else None
    dismissal = cycle.dismissed.get(refused.id) if refused is not None else None
    if refused is None or dismissal is None or dismissal.reason not in _ROOM_REFUSED:
        return None
    due = await _due(cycle, refused.perception)
    if due is None:
        return None
    if due.state == "cancelled":
        return BroughtUp(await _end_cancelled(cycle, due, refused.perception))
    return BroughtUp(await _pause(cycle, due, "not_in_channel"))


async def _due(cycle: Cycle, perception: Perception) -> Intention | None:
    if perception.modality is not Modality.TIME or DUE_OF not in perception.params:
        return None
    return await cycle.services.capabilities.own_things.due(str(perception.params[DUE_OF]))


async def _why_lost(cycle: Cycle, due: Intention) -> Pause | None:
    if cycle.newest.place in _ALONE or cycle.newest.place is Place.GROUP_DM:
        return None
    try:
        await cycle.services.capabilities.shared_room(due.behalf, cycle.claim.conversation.channel)
    except ChannelRefused as error:
        return _WHY.get(error.code, "not_in_channel")
    except ChannelError:  # it is asked again with the post itself
        return None
    return None


async def _end_cancelled(cycle: Cycle, due: Intention, event: Perception) -> Delivery | None:
    """What was cancelled comes up no more; of a digest that ended with its message, the person hears so."""
    if WITHDRAWN not in event.params:
        return await _commit(cycle)
    cycle.services.emit("digest.withdrawn", id=due.id)
    return await _commit(cycle, *await _in_private(cycle, due, "digest_withdrawn"))


async def _pause(cycle: Cycle, due: Intention, why: Pause) -> Delivery | None:
    heard = await _in_private(cycle, due, _SENTENCES[why])
    cycle.services.emit("reminder.paused", id=due.id, why=why)
    return await _commit(cycle, ReminderPaused(due.id, why), *heard)


async def _in_private(cycle: Cycle, due: Intention, sentence: str) -> tuple[MemoryAct, ...]:
    """What tells the person of it in their direct messages, in their language; nothing where these can't be opened."""
    services, claim = cycle.services, cycle.claim
    words = services.soul().words_in(await services.channels.main.language_of(due.behalf))
    text = words.say(sentence, number=due.number, room=await room_name(cycle, claim.conversation.channel))
    try:
        found = await services.capabilities.find_room(due.behalf)
    except ChannelError as error:
        services.emit("reminder.no_room", id=due.id, reason=error.message)
        return ()
    where = ConversationKey(claim.conversation.soul, claim.conversation.workspace, found.channel)
    return (SaidInPrivate(found.channel, found.audience, services.channels.of(where).split(text, where, cycle.hosts)),)


async def _commit(cycle: Cycle, *acts: MemoryAct) -> Delivery | None:
    """End the event without a word where it fell due."""
    effect = effect_of_words(cycle, (), ())
    delivery = await cycle.services.commits.commit(replace(effect, acts=(*effect.acts, *acts)))
    cycle.services.wake()
    return delivery


async def _post_digest(cycle: Cycle, due: Intention) -> Delivery | None:
    """Post a digest of what was said since the last one; where nothing was, nothing is posted and no model asked."""
    services, claim, soul = cycle.services, cycle.claim, cycle.soul
    now = services.clock.now_ms()
    since = due.covers_to or platform_time(due.created_ms)
    there = await cycle.channel.said_since(cycle.newest, since)
    forgotten = await services.standing.forgotten([(one.author, one.ts) for one in there])
    said = [one for one in there if (one.author, one.ts) not in forgotten]
    if not said:
        return await _commit(cycle)
    texts = [one.text for one in said]
    cycle.hosts.learn(*texts)
    cycle.nonce = cycle.nonce.kept_or_drawn(now, (*texts, *(one.name for one in said)))
    await services.names.learn(texts)
    mind = await services.mind(soul, cycle.calls.append, cycle.charge, (cycle.readers.audience,), cycle.nonce.code)
    _, told = await mind.run(talk_of_room(soul.display_name, said), digest(soul))
    shown = time_in(int(float(since) * 1000), cycle.newest.zone)
    cycle.dates[shown] = int(float(since) * 1000)
    text = f"_{cycle.words.say('digest_head', since=shown)}_\n\n{told}"
    parts = cycle.channel.split(text, claim.conversation, cycle.hosts)
    await cycle.require_same_readers()
    turn = Turn(Speaks.SOUL, soul.name, soul.display_name, cycle.newest.ts, text)
    effect = effect_of_words(cycle, parts, (turn,))
    done = DigestPosted(due.id, said[-1].ts)
    delivery = await services.commits.commit(replace(effect, acts=(*effect.acts, done)))
    services.emit("digest.posted", id=due.id, messages=len(said), trace=cycle.trace_id)
    return delivery
