"""Sets and drops reminders before the reply is made, so that the reply can truthfully confirm them."""

from dataclasses import replace

from daemon.core.errors import ModelError
from daemon.core.perception import AudienceKind
from daemon.core.timetable import moment_in
from daemon.memory.queues.intention_rows import Intention
from daemon.memory.queues.own_reminders import ReminderCancelled
from daemon.mind.answer_filter import words_aloud
from daemon.mind.mental_process import ProcessContext
from daemon.mind.setting_reminders import needs_a_time, refused_for_zone, set_reminder, until_when
from daemon.mind.steps.intend import intend, with_reminders

_NOTHING_DONE = (
    "No reminder has been set or dropped: neither a time nor one to be dropped could be made out. Promise "
    "none; if they want one, ask for what is missing."
)


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
    elif (what := words_aloud(request.what)) or request.digest:
        asked = replace(request, what=what)
        if asked.when or asked.every or asked.digest:
            done.append(await set_reminder(context, asked, now_ms))
            if asked.unheeded:
                done.append(f"You could not heed what they said besides: {', '.join(asked.unheeded)}. Say so.")
        else:
            done.append(needs_a_time(context))
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
    return f"{moment}, if no one answers by then" if intention.cue else moment


def _drop(context: ProcessContext, intention: Intention) -> str:
    """Drop a reminder, if the user who asks is the one who had it set."""
    due = _due(intention, context.perception.zone)
    if intention.behalf != context.perception.author:
        return f"You may not drop the reminder of {due}: somebody else had it set. Say so."
    if intention.conversation == str(context.perception.conversation):
        context.motor.cancel(intention.slot)
    else:
        context.motor.decide(ReminderCancelled(intention.id))
    return f"You have dropped the reminder of {due}; confirm it."
