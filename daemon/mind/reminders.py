"""Sets and drops reminders before the reply is made, so that the reply can truthfully confirm them."""

import hashlib
from dataclasses import replace

from daemon.core.errors import ModelError
from daemon.core.perception import AudienceKind
from daemon.core.timetable import moment_in
from daemon.memory.queues.cues import CueKind
from daemon.memory.queues.intention_rows import Intention, NewIntention
from daemon.memory.queues.own_reminders import ReminderCancelled
from daemon.mind.answer_filter import words_aloud
from daemon.mind.mental_process import ProcessContext
from daemon.mind.setting_reminders import LONGEST, not_set, refused_for_zone, set_reminder, until_when
from daemon.mind.steps.intend import ReminderRequest, intend, with_reminders
from daemon.mind.waiting_for import NotWaitable, cue_of

_NO_ROOM = "they have as many reminders waiting as fit; one has to be dropped first"
_NOTHING_DONE = (
    "No reminder has been set or dropped: neither a time nor anything else to wait for, nor one to be dropped, could "
    "be made out. Promise none; if they want one, ask for what is missing."
)
_COMES_UP = {
    CueKind.TOPIC: "once somebody else writes about what they named, where you read along and all who read here may "
    "know of it",
    CueKind.PERSON: "once the person they named writes, where you read along and all who read here may know of it",
    CueKind.SILENCE: "once there were no words in this conversation for as long as they said",
}
_WAITS_FOR = {
    CueKind.TOPIC: "waits for words about it, until {moment}",
    CueKind.PERSON: "waits for words of a person, until {moment}",
    CueKind.SILENCE: "waits for a silence here, as it stands until {moment}",
}


async def heed_reminders(context: ProcessContext) -> str:
    """Set or drop reminders as the newest messages ask; gives the result for the prompt.

    Runs where the model says that a message calls for it, so that the reply promises nothing that was not done.
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
    elif (what := words_aloud(request.what or request.about)) or request.digest:
        asked = replace(request, what=what)
        if asked.waits:
            done.append(await _wait(context, asked, now_ms))
        elif asked.when or asked.every or asked.digest:
            done.append(await set_reminder(context, asked, now_ms))
        if asked.unheeded:
            done.append(f"You could not heed what they said besides: {', '.join(asked.unheeded)}. Say so.")
    return " ".join(done) or _NOTHING_DONE


async def _waiting(context: ProcessContext) -> tuple[Intention, ...]:
    """What waits in this conversation; where the person is alone with the soul, all of theirs wherever it waits."""
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
    return _WAITS_FOR[CueKind(intention.cue)].format(moment=moment) if intention.cue else moment


def _drop(context: ProcessContext, intention: Intention) -> str:
    """Drop a reminder, if the user who asks is the one who had it set."""
    due = _due(intention, context.perception.zone)
    due = f"that {due}" if intention.cue else f"of {due}"
    if intention.behalf != context.perception.author:
        return f"You may not drop the reminder {due}: somebody else had it set. Say so."
    if intention.conversation == str(context.perception.conversation):
        context.motor.cancel(intention.slot)
    else:
        context.motor.decide(ReminderCancelled(intention.id))
    return f"You have dropped the reminder {due}; confirm it."


async def _wait(context: ProcessContext, request: ReminderRequest, now_ms: int) -> str:
    """Set a reminder that waits for words or a silence."""
    author, zone = context.perception.author, context.perception.zone
    try:
        cue = await cue_of(context, request, now_ms)
    except NotWaitable as why:
        return not_set(context, str(why))
    if not await context.capabilities.may_intend(author, len(context.motor.intentions)):
        return not_set(context, _NO_ROOM)
    same = "/".join((author, cue.kind, cue.person, *sorted(cue.keys)))  # set once more, it takes its own place
    context.motor.schedule(
        NewIntention(
            slot=f"reminder-{hashlib.sha256(same.encode()).hexdigest()[:12]}",
            content=request.what[:LONGEST],
            behalf=author,
            cue=cue,
        )
    )
    often = "once" if cue.fires == 1 else f"{cue.fires} times at most"
    return (
        f"You have set a reminder: you bring it up here, {often}, {_COMES_UP[cue.kind]}; it ends on "
        f"{moment_in(cue.until_ms, zone)}, or sooner when they tell you to drop it. Confirm it in one sentence that "
        f"says what it waits for, until when, and how to end it.{_unknown(zone)}"
    )


def _unknown(zone: str) -> str:
    return "" if zone else " Say that this is UTC, since you don't know their time zone."
