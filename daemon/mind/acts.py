"""Sets and drops reminders and digests as messages ask, and reports the result in a clause for the prompt."""

import re
import secrets
from typing import Final, cast

from daemon.core.errors import ChannelError, ChannelRefused, ModelError
from daemon.core.perception import AudienceKind, Place
from daemon.core.ports.channel import Room
from daemon.core.timeframes import due_time, repeats_in_words, timeframe
from daemon.core.timetable import MINUTE_MS, InThePast, Recurrence, moment_in, platform_time, zone_of
from daemon.memory.queues.intention_rows import ASKED_IN, DIGEST, ENDS_MS, SILENCE, TIMES, Intention, NewIntention
from daemon.memory.queues.intentions import first_due
from daemon.memory.queues.own_reminders import OWN_SLOT, ReminderCancelled, ReminderSet
from daemon.mind.process import ProcessContext
from daemon.mind.reply import words_aloud
from daemon.mind.steps.intend import HERE, ReminderRequest, intend, with_reminders
from daemon.mind.taking_effect import NotSaid, require_said

LONGEST: Final = 500
_NOT_IN_NAMES: Final = re.compile(r"[^\w/+:-]|_")  # of zones: marks of a line, and what separates words
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_WORD: Final = re.compile(r"\w+")
_LONGEST_ZONE, _A_NAME = 40, 3  # characters: of a zone's name that is shown, and of a word that names one
_THIS_CHANNEL: Final = frozenset({"channel", "this channel"})
_ALONE: Final = (Place.DM, Place.TERMINAL)
_NO_ROOM: Final = "they have as many reminders waiting as fit; one has to be dropped first"
_NO_TIME: Final = (
    "the time could not be made out, has passed, or is more than a year ahead"  # no quote: it might be an order
)
_NO_RULE: Final = (
    "it can come again daily, on weekdays, on days of the week, once a month or a year at a time of day, or every so "
    "many hours, from one hour to a week, and in no other way"
)
_NO_END: Final = (
    "until when it is to come again could not be made out, is over before it comes first, or is more than a year ahead"
)
_NO_OTHERS: Final = "no one else can answer where they are alone with you; at a time it could be done"
_NO_DIGEST: Final = "a digest is of a channel, at a time that comes again; they have to say which and when"
_WHY_NOT_THERE: Final = {
    "guest": "guests have reminders where they speak to you, and none in other places",
    "not_there": "there is no channel of that name that they are in",
    "not_in_channel": "you are not in that channel; they can invite you",
    "is_archived": "that channel is archived",
}
_NOT_THERE: Final = "you may not write there"


class NotSettable(Exception):
    """A reminder can't be set. The message is a clause of the daemon's own that says why."""


async def set_reminder(context: ProcessContext, request: ReminderRequest, now_ms: int) -> str:
    """Set a reminder or a digest at a time, and return the result as a sentence for the prompt."""
    zone = context.perception.zone  # of the user who speaks, for others in the room, too
    try:
        room = await _room_of(context, request)
        new = await _asked_for(context, request, now_ms)
        due_ms = _first_due(new, now_ms)
        if room is not None and _is_elsewhere(request):
            require_said(context, room, request.where, new.content)
    except (NotSettable, NotSaid) as why:
        return not_set(context, str(why))
    if room is None:
        context.motor.schedule(new)
    else:
        most = context.capabilities.most_intentions
        context.motor.decide(ReminderSet(new, room.channel, room.place, room.audience, most))
    shown = _shown(context, new, due_ms, request.where if room is not None and _is_elsewhere(request) else "")
    if new.every or room is not None or context.perception.place not in _ALONE:
        context.motor.show_below(f"_{shown}_")
    what = "a digest" if new.errand else "a reminder"
    again = f", {new.every} from then on{until_when(*_limits(new), zone)}" if new.every else ""
    again += ", only if no one else has written here by then" if new.cue else ""
    unknown = "" if zone else " Say that this is UTC, since you don't know their time zone."
    return f"You have set {what} for {moment_in(due_ms, zone)}{again}; confirm it with that time.{unknown}"


def not_set(context: ProcessContext, why: str) -> str:
    """Say below the reply that no reminder is set, and return the sentence for the prompt."""
    context.motor.show_below(f"_{context.motor.words.say('reminder_not_set')}_")
    return f"You could not set the reminder: {why}. A line below your reply says so; say why in one sentence."


def needs_a_time(context: ProcessContext) -> str:
    """Say below the reply what a reminder can wait for, and return the sentence for the prompt."""
    context.motor.show_below(f"_{context.motor.words.say('reminder_needs_time')}_")
    return "You have set no reminder: it needs a time, and can wait for nothing else. A line below your reply says so."


def until_when(ends_ms: int, times: int, zone: str) -> str:
    """Return the end of a repetition in words for a prompt, or an empty string if it never ends."""
    until = f", until {moment_in(ends_ms, zone)}" if ends_ms else ""
    return f"{until}, {times} times at most" if times else until


def _limits(new: NewIntention) -> tuple[int, int]:
    return cast("int", new.params.get(ENDS_MS, 0)), cast("int", new.params.get(TIMES, 0))


def _first_due(new: NewIntention, now_ms: int) -> int:
    """Return the first time of a reminder. Raises NotSettable where its end is earlier."""
    due_ms = first_due(new, now_ms)
    if 0 < _limits(new)[0] < due_ms:
        raise NotSettable(_NO_END)
    return due_ms


def refused_for_zone(context: ProcessContext, request: ReminderRequest) -> str:
    """Refuse an unknown time zone below the reply, and return the sentence for the prompt, empty if the zone is fine.

    The model's word alone does not count: the user must have written the name.
    """
    perception, name = context.perception, _NOT_IN_NAMES.sub(" ", request.unknown_zone)[:_LONGEST_ZONE].strip()
    written = {word for word in _WORD.findall(perception.content.casefold()) if len(word) >= _A_NAME}
    if not written.intersection(_WORD.findall(name.casefold())):
        return ""
    if any(zone_of(spelt.replace(" ", "_")) for spelt in (name, name.title(), name.upper())):
        return ""
    said = context.motor.words.say("reminder_no_zone", zone=name, own=perception.zone or "UTC")
    context.motor.show_below(f"_{said}_")
    return "They named a time zone that does not exist, so no reminder is set. A line below your reply says so."


def _shown(context: ProcessContext, new: NewIntention, due_ms: int, elsewhere: str) -> str:
    """Return the line below the reply, true whatever a model says. It names the channel `elsewhere`, if any."""
    words = context.motor.words
    zone, alone = context.perception.zone, context.perception.place in _ALONE
    when_ = context.motor.time(due_ms, zone, alone=alone)
    if new.every:
        ends_ms, times = _limits(new)
        until = context.motor.time(ends_ms, zone, alone=alone) if ends_ms else ""
        when_ = repeats_in_words(when_, new.every, words, until=until, times=times)
    if new.cue:
        when_ = words.say("reminders_waits", when=when_)
    what = words.say("reminders_digest") if new.errand else new.content
    if elsewhere:
        what = words.say("reminders_in", line=what, room=f"#{elsewhere.removeprefix('#')}")
    return words.say("reminder_set", when=when_, what=what.replace("_", "\\_").replace("*", "\\*"))


async def _asked_for(context: ProcessContext, request: ReminderRequest, now_ms: int) -> NewIntention:
    """Return the intention that the request asks for. Raises NotSettable."""
    perception = context.perception
    try:
        rule = str(Recurrence.parse(request.every)) if request.every else ""
    except ValueError:
        raise NotSettable(_NO_RULE) from None
    try:
        due_ms = due_time(request.when, now_ms, perception.zone) if request.when else 0
    except ValueError as why:
        if not rule or not isinstance(why, InThePast):  # what repeats begins at its next time then
            raise NotSettable(_NO_TIME) from None
        due_ms = 0
    if not (rule or due_ms):
        raise NotSettable(_NO_TIME)
    if request.digest and not rule:
        raise NotSettable(_NO_DIGEST)
    waits = request.unanswered and request.is_here and not rule
    if waits and perception.place in _ALONE:
        raise NotSettable(_NO_OTHERS)
    planned = len(context.motor.intentions) + sum(isinstance(act, ReminderSet) for act in context.motor.acts)
    if not await context.capabilities.may_intend(perception.author, planned):
        raise NotSettable(_NO_ROOM)
    return NewIntention(
        slot=f"{OWN_SLOT}{secrets.token_hex(4)}",
        due_ms=due_ms,
        content="" if request.digest else request.what[:LONGEST],
        every=rule,
        behalf=perception.author,
        zone=perception.zone,
        errand=DIGEST if request.digest else "",
        covers_to=platform_time(now_ms) if request.digest else perception.ts if waits else "",
        cue=SILENCE if waits else "",
        params={ASKED_IN: [perception.ts], **(_ends(request, now_ms, perception.zone) if rule else {})},
        asked_where="" if request.is_here else str(perception.conversation),
    )


def _ends(request: ReminderRequest, now_ms: int, zone: str) -> dict[str, object]:
    """Return the params that end a repetition. Raises NotSettable."""
    limits: dict[str, object] = {TIMES: request.times} if request.times > 0 else {}
    if not request.until:
        return limits
    day = f"{request.until}T23:59" if _DATE.fullmatch(request.until) else request.until
    try:
        due_ms = due_time(day, now_ms, zone)
    except ValueError:
        raise NotSettable(_NO_END) from None
    # A day that is named lasts until its last minute; a moment is one.
    return {**limits, ENDS_MS: max(due_ms, timeframe(day, now_ms, zone).until_ms - MINUTE_MS)}


def _is_elsewhere(request: ReminderRequest) -> bool:
    return request.where.casefold() not in HERE | _THIS_CHANNEL | {"me"}


async def _room_of(context: ProcessContext, request: ReminderRequest) -> Room | None:
    """Return the room in which the reminder appears, or None for this conversation. Raises NotSettable."""
    perception, where = context.perception, request.where.casefold()
    if request.is_here:
        return None
    if where in HERE or where in _THIS_CHANNEL:
        where = "me" if perception.place in _ALONE else perception.conversation.channel
    if where == "me" and request.digest:
        raise NotSettable(_NO_DIGEST)
    if where == "me" and perception.place in _ALONE:
        return None
    try:
        if where == "me":
            return await context.capabilities.find_room(perception.author)
        return await context.capabilities.shared_room(perception.author, where)
    except ChannelRefused as error:
        raise NotSettable(_WHY_NOT_THERE.get(error.code, _NOT_THERE)) from None
    except ChannelError:
        raise NotSettable("that channel can't be looked up just now; they may ask again in a minute") from None


_NOTHING_DONE = (
    "No reminder has been set or dropped: neither a time nor one to be dropped could be made out. Promise "
    "none; if they want one, ask for what is missing."
)


async def handle_reminders(context: ProcessContext) -> str:
    """Set or drop reminders as the newest messages ask, and return the result for the prompt.

    It runs before the reply, which then promises nothing that was not done.
    """
    waiting = await _waiting(context)
    now_ms = context.mind.clock.now_ms()
    zone = context.perception.zone
    lines = [f"{_due(one, zone)}: {one.content}" for one in waiting]
    try:
        memory = with_reminders(context.memory, lines)
        _, request = await context.mind.run(memory, intend(moment_in(now_ms, zone), len(waiting)))
    except ModelError:
        return "You could not make out which reminder is meant; nothing was set or dropped. Say so."
    done = [_drop(context, waiting[number - 1]) for number in request.drop]
    if refused := refused_for_zone(context, request):
        done.append(refused)
    elif (what := words_aloud(request.what)) or request.digest:
        asked = request.model_copy(update={"what": what})
        if asked.when or asked.every or asked.digest:
            done.append(await set_reminder(context, asked, now_ms))
            if asked.unheeded:
                done.append(f"You could not heed what they said besides: {', '.join(asked.unheeded)}. Say so.")
        else:
            done.append(needs_a_time(context))
    return " ".join(done) or _NOTHING_DONE


async def _waiting(context: ProcessContext) -> tuple[Intention, ...]:
    here = await context.capabilities.intended(context.perception.conversation)
    if context.cycle.readers.audience.kind is not AudienceKind.DM:
        return here
    known = {one.id for one in here}
    own = await context.capabilities.own_things.reminders(context.perception.author)
    return (*here, *(one for one in own if one.id not in known))


def _due(intention: Intention, zone: str) -> str:
    moment = moment_in(intention.due_ms, zone)
    if intention.every:
        moment += f", {intention.every}{until_when(intention.ends_ms, intention.times_left, zone)}"
    return f"{moment}, if no one answers by then" if intention.cue else moment


def _drop(context: ProcessContext, intention: Intention) -> str:
    due = _due(intention, context.perception.zone)
    if intention.behalf != context.perception.author:
        return f"You may not drop the reminder of {due}: somebody else had it set. Say so."
    if intention.conversation == str(context.perception.conversation):
        context.motor.cancel(intention.slot)
    else:
        context.motor.decide(ReminderCancelled(intention.id))
    return f"You have dropped the reminder of {due}; confirm it."
