"""Obeys phrases about reminders, brings up due ones apart from the soul, and shows a reply in its channel."""

import datetime as dt
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from daemon.core.errors import ChannelError, ChannelRefused
from daemon.core.perception import AudienceKind, ConversationKey, Modality, Perception, Place
from daemon.core.phrases import Command, Phrase
from daemon.core.text import numbered, one_line
from daemon.core.timeframes import clock_time, due_time, repeats_in_words, time_in, time_of_day
from daemon.core.timetable import Recurrence, platform_time, recurrence_of, when, zone_of
from daemon.memory.queues.intention_rows import DIGEST, DUE_OF, WITHDRAWN, Intention
from daemon.memory.queues.memory_acts import MemoryAct
from daemon.memory.queues.own_reminders import (
    DigestPosted,
    Pause,
    ReminderCancelled,
    ReminderMoved,
    ReminderPaused,
    ReminderResumed,
)
from daemon.mind.steps.digest import digest, talk_of_room
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.answers import DaemonAnswer, by_person, dm_of, in_channel, phrase

_SHOWN = 40  # reminders in one list
_LONGEST = 200  # characters of a reminder in it


@phrase(
    *(Command.CANCEL_REMINDER, Command.MOVE_REMINDER, Command.RESUME_REMINDER),
    needs={by_person: "own_way"},
)
async def handle_own_reminders(cycle: Cycle, phrase: Phrase) -> DaemonAnswer:
    """Change a person's own reminders. Where others read along, the answer names a reminder by its number.

    Raises StoreError.
    """
    own = await cycle.services.store.own_things.reminders(cycle.newest.author)
    answers = []
    for number in (phrase.number, *phrase.more):
        found = next((one for one in own if one.number == number), None)
        answer = await _change(cycle, phrase, found) if found is not None else None
        answers.append(answer or DaemonAnswer(cycle.words.say("reminder_no_number", number=number)))
    return DaemonAnswer("\n".join(one.text for one in answers), tuple(act for one in answers for act in one.acts))


def _is_alone(cycle: Cycle) -> bool:
    return cycle.claim.audience.kind is AudienceKind.DM


async def reminders_of_person(cycle: Cycle) -> str:
    """Return all reminders of a person, in their time zone. Raises StoreError."""
    say = cycle.words.say
    own = await cycle.services.store.own_things.reminders(cycle.newest.author)
    if not own:
        return say("reminders_none")
    lines = await lines_of(cycle, own[:_SHOWN])
    more = [say("help_more", count=len(own) - _SHOWN)] if len(own) > _SHOWN else []
    return "\n".join((say("reminders_head"), *lines, *more, say("reminders_how", number=own[0].number)))


async def lines_of(cycle: Cycle, own: Sequence[Intention]) -> list[str]:
    """Return a line for each of a person's reminders, with its number, its time in their zone, and its place."""
    names = await cycle.services.channels.main.names_of([_channel(one) for one in own])
    return [_line(cycle, one, _as_written(names.get(_channel(one), ""))) for one in own]


def _line(cycle: Cycle, one: Intention, room: str) -> str:
    say, zone = cycle.words.say, cycle.newest.zone
    moment = time_in(one.due_ms, zone)
    if one.cue:
        moment = say("reminders_waits", when=moment)
    elif one.every:
        until = time_in(one.ends_ms, zone) if one.ends_ms else ""
        moment = repeats_in_words(moment, one.every, cycle.words, until=until, times=one.times_left)
    what = say("reminders_digest") if one.errand == DIGEST else one_line(one.content)[:_LONGEST]
    line = say("reminders_line", number=numbered(one.number), when=moment, what=what)
    if one.place != "dm" and one.conversation != str(cycle.claim.conversation):
        line = say("reminders_in", line=line, room=room or say("a_channel"))
    return say("reminders_paused", line=line, number=one.number) if one.paused else line


def _channel(one: Intention) -> str:
    return ConversationKey.parse(one.conversation).channel


async def _change(cycle: Cycle, phrase: Phrase, found: Intention) -> DaemonAnswer:
    words, number = cycle.words, found.number
    if phrase.command is Command.CANCEL_REMINDER:
        return DaemonAnswer(words.say("reminder_cancelled", number=number), (ReminderCancelled(found.id),))
    if phrase.command is Command.MOVE_REMINDER:
        return _moved(cycle, found, phrase.words)
    rule = recurrence_of(found.every)
    if not found.paused or rule is None:
        return DaemonAnswer(words.say("reminder_resumed", number=number, when=_time(cycle, found.due_ms)))
    if (room := await _lost_room(cycle, found)) is not None:
        return DaemonAnswer(words.say("reminder_still_lost", number=number, room=room))
    now, zone = cycle.services.clock.now_ms(), cycle.newest.zone
    due_ms = found.due_ms if found.due_ms > now else rule.first(now, zone, found.fired_day).due_ms
    resumed = words.say("reminder_resumed", number=number, when=_time(cycle, due_ms))
    return DaemonAnswer(resumed, (ReminderResumed(found.id, zone),))


async def _lost_room(cycle: Cycle, found: Intention) -> str | None:
    if found.place == "dm":
        return None
    channel = _channel(found)
    try:
        await cycle.services.capabilities.shared_room(found.behalf, channel)
    except ChannelError:
        return await room_name(cycle, channel)
    return None


async def room_name(cycle: Cycle, channel: str) -> str:
    """Return the name of a channel. A channel that only its members may know has no name here."""
    name = (await cycle.services.channels.main.names_of([channel])).get(channel, "")
    return _as_written(name) or cycle.words.say("a_channel")


def _as_written(name: str) -> str:
    return f"#{name}" if name else ""


def _time(cycle: Cycle, ms: int) -> str:
    shown = time_in(ms, cycle.newest.zone)
    if not _is_alone(cycle):
        cycle.dates[shown] = ms
    return shown


def _moved(cycle: Cycle, found: Intention, to: str) -> DaemonAnswer:
    words, now, zone = cycle.words, cycle.services.clock.now_ms(), cycle.newest.zone
    rule, time = recurrence_of(found.every), time_of_day(to) or clock_time(to)
    if found.every and (rule is None or (time is None and not rule.hours)):
        return DaemonAnswer(words.say("reminder_time_alone", number=found.number))
    if rule is not None and time is not None and not rule.hours:
        return _as_moved(cycle, found, rule.at(*time).first(now, zone, found.fired_day).due_ms, rule.at(*time))
    try:
        due_ms = _on_its_day(found, time, now, zone) if time is not None else due_time(to, now, zone)
    except ValueError:
        return DaemonAnswer(words.say("reminder_when", number=found.number))
    return _as_moved(cycle, found, due_ms, rule)


def _as_moved(cycle: Cycle, found: Intention, due_ms: int, rule: Recurrence | None) -> DaemonAnswer:
    moved = cycle.words.say("reminder_moved", number=found.number, when=_time(cycle, due_ms))
    return DaemonAnswer(moved, (ReminderMoved(found.id, due_ms, str(rule) if rule else "", cycle.newest.zone),))


def _on_its_day(found: Intention, time: tuple[int, int], now_ms: int, zone: str) -> int:
    """Return a time of day on the reminder's due day, or the next one if that has passed. Raises ValueError."""
    there = dt.datetime.fromtimestamp(found.due_ms / 1000, zone_of(zone) or dt.UTC)
    text = f"{there:%Y-%m-%d}T{time[0]:02d}:{time[1]:02d}"
    try:
        return when(text, now_ms, zone or "UTC")
    except ValueError:
        return when(f"{time[0]:02d}:{time[1]:02d}", now_ms, zone)


_WHY: Final[dict[str, Pause]] = {"not_there": "owner_left", "guest": "owner_left", "is_archived": "archived"}
_SENTENCES: Final[dict[Pause, str]] = {
    "not_in_channel": "reminder_lost",
    "archived": "reminder_archived",
    "owner_left": "reminder_left",
}
_ROOM_REFUSED: Final = frozenset({"unknown_channel", "shared_channel"})
_ALONE: Final = (Place.DM, Place.TERMINAL)


async def bring_up_apart(cycle: Cycle) -> DaemonAnswer | None:
    """Pause a reminder that may not appear any more, or tell a digest. Return None where the soul brings it up itself.

    Raises StoreError and ModelError.
    """
    due = await _due(cycle, cycle.newest)
    if due is None:
        return None
    if due.state == "cancelled":
        return await _end_cancelled(cycle, due, cycle.newest)
    if (why := await _why_lost(cycle, due)) is not None:
        return await _pause(cycle, due, why)
    return await _digest(cycle, due) if due.errand == DIGEST else None


async def pause_refused(cycle: Cycle) -> DaemonAnswer | None:
    """Pause a due reminder in a room in which the gate admits no message. Return None for anything else."""
    refused = cycle.claim.messages[-1] if cycle.claim.messages else None
    dismissal = cycle.dismissed.get(refused.id) if refused is not None else None
    if refused is None or dismissal is None or dismissal.reason not in _ROOM_REFUSED:
        return None
    due = await _due(cycle, refused.perception)
    if due is None:
        return None
    if due.state == "cancelled":
        return await _end_cancelled(cycle, due, refused.perception)
    return await _pause(cycle, due, "not_in_channel")


async def _due(cycle: Cycle, perception: Perception) -> Intention | None:
    if perception.modality is not Modality.TIME or DUE_OF not in perception.params:
        return None
    return await cycle.services.store.own_things.due(str(perception.params[DUE_OF]))


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


async def _end_cancelled(cycle: Cycle, due: Intention, event: Perception) -> DaemonAnswer:
    """End a cancelled reminder. If a digest ended with its message, the person gets a DM."""
    if WITHDRAWN not in event.params:
        return _in_silence()
    cycle.services.emit("digest.withdrawn", id=due.id)
    return _in_silence(*await _in_private(cycle, due, "digest_withdrawn"))


async def _pause(cycle: Cycle, due: Intention, why: Pause) -> DaemonAnswer:
    heard = await _in_private(cycle, due, _SENTENCES[why])
    cycle.services.emit("reminder.paused", id=due.id, why=why)
    return _in_silence(ReminderPaused(due.id, why), *heard)


def _in_silence(*acts: MemoryAct) -> DaemonAnswer:
    return DaemonAnswer(acts=acts, here=False)


async def _in_private(cycle: Cycle, due: Intention, sentence: str) -> tuple[MemoryAct, ...]:
    """Return the DM that reports it to the person, in their language, nothing where the DM can't be opened."""
    services = cycle.services
    words, room = await services.words_for(due.behalf), await room_name(cycle, cycle.claim.conversation.channel)
    try:
        dm = await dm_of(cycle, due.behalf)
    except ChannelError as error:
        services.emit("reminder.no_room", id=due.id, reason=error.message)
        return ()
    return (dm.said(cycle, words.say(sentence, number=due.number, room=room)),)


async def _digest(cycle: Cycle, due: Intention) -> DaemonAnswer:
    """Tell a digest of what was said since the last one. Without any words nothing is posted and no model asked."""
    services, soul = cycle.services, cycle.soul
    now = services.clock.now_ms()
    since = due.covers_to or platform_time(due.created_ms)
    there = await cycle.channel.said_since(cycle.newest, since)
    forgotten = await services.store.standing.forgotten([(one.author, one.ts) for one in there])
    said = [one for one in there if (one.author, one.ts) not in forgotten]
    if not said:
        return _in_silence()
    texts = [one.text for one in said]
    cycle.hosts.learn(*texts)
    cycle.nonce = cycle.nonce.kept_or_drawn(now, (*texts, *(one.name for one in said)))
    await services.names.learn(texts)
    mind = await services.mind(soul, cycle.calls.append, cycle.charge, (cycle.readers.audience,), cycle.nonce.code)
    _, told = await mind.run(talk_of_room(soul.display_name, said), digest(soul))
    shown = time_in(int(float(since) * 1000), cycle.newest.zone)
    cycle.dates[shown] = int(float(since) * 1000)
    text = f"_{cycle.words.say('digest_head', since=shown)}_\n\n{told}"

    async def log() -> None:
        services.emit("digest.posted", id=due.id, messages=len(said), trace=cycle.trace_id)

    return DaemonAnswer(
        text, (DigestPosted(due.id, said[-1].ts),), (cycle.says(text),), {"rooms": frozenset()}, after=log
    )


@phrase(Command.SHOW_THERE, needs={in_channel: "there_where"})
async def show_there(cycle: Cycle, _: Phrase) -> str:
    """Show the last reply of this thread in its channel, and report the result to the person alone.

    All readers of the channel may read its threads, so no user learns anything new.
    """
    newest, said = cycle.newest, cycle.words.say(await _shown(cycle))
    thread = cycle.channel.reply_to(newest)
    return "" if await cycle.channel.whisper(newest.conversation, newest.author, said, thread=thread) else said


async def _shown(cycle: Cycle) -> str:
    """Show it, and return the key of the sentence about the result. Raises StoreError, ReadersChanged."""
    post = await cycle.services.store.own_things.last_reply(cycle.claim.conversation)
    if post is None or not post.reply_to or not post.body:
        return "there_none"
    if post.recipient != cycle.newest.author:
        return "there_not_yours"
    await cycle.require_same_readers()
    try:
        await cycle.channel.show_in_channel(replace(post, words=cycle.words))
    except ChannelRefused:
        return "there_refused"
    except ChannelError:
        return "there_later"
    return "there_shown"
