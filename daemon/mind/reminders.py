"""Sets and drops reminders before the reply is made, so that the reply can truthfully confirm them."""

import secrets
from dataclasses import replace

from daemon.core.errors import ModelError
from daemon.core.timetable import moment_in, when
from daemon.memory.queues.intentions import Intention, NewIntention
from daemon.mind.answer_filter import words_aloud
from daemon.mind.mental_process import ProcessContext
from daemon.mind.steps.intend import ReminderRequest, intend, with_reminders

_LONGEST = 500  # characters of a reminder
_NO_ROOM = "they have as many reminders waiting as fit; one has to be dropped first"
_NOTHING_DONE = (
    "No reminder has been set or dropped: no time, or nothing to be dropped, could be made out. Promise none; if they "
    "want one, ask for what is missing."
)
_NO_TIME = "the time could not be made out, has passed, or is more than a year ahead"  # no quote: it might be an order


async def heed_reminders(context: ProcessContext) -> str:
    """Set or drop reminders as the newest messages ask; gives the result for the prompt.

    Runs where the model says that a message calls for it, so that the reply promises nothing that was not done.
    """
    waiting = await context.capabilities.intended(context.perception.conversation)
    now_ms = context.mind.clock.now_ms()
    zone = context.perception.zone
    lines = [f"{moment_in(one.due_ms, zone)}: {one.content}" for one in waiting]
    try:
        memory = with_reminders(context.memory, lines)
        _, request = await context.mind.run(memory, intend(moment_in(now_ms, zone), len(waiting)))
    except ModelError:
        return "You could not make out which reminder is meant; nothing was set or dropped. Say so."
    done = [_drop(context, waiting[number - 1]) for number in request.drop]
    if request.when and (what := words_aloud(request.what)):
        done.append(await _set(context, replace(request, what=what), now_ms))
    return " ".join(done) or _NOTHING_DONE


def _drop(context: ProcessContext, intention: Intention) -> str:
    """Drop a reminder, if the user who asks is the one who had it set."""
    due = moment_in(intention.due_ms, context.perception.zone)
    if intention.behalf != context.perception.author:
        return f"You may not drop the reminder of {due}: somebody else had it set. Say so."
    context.motor.cancel(intention.slot)
    return f"You have dropped the reminder of {due}; confirm it."


async def _set(context: ProcessContext, request: ReminderRequest, now_ms: int) -> str:
    zone = context.perception.zone  # of the user who speaks, whoever else is in the room
    try:
        due_ms = when(request.when, now_ms, zone or "UTC")
    except ValueError:
        return f"You could not set the reminder: {_NO_TIME}. Say so and ask for the time."
    if not await context.capabilities.may_intend(context.perception.author, len(context.motor.intentions)):
        return f"You could not set the reminder: {_NO_ROOM}. Say so."
    context.motor.schedule(
        NewIntention(
            slot=f"reminder-{secrets.token_hex(4)}",
            due_ms=due_ms,
            content=request.what[:_LONGEST],
            behalf=context.perception.author,
        )
    )
    unknown = "" if zone else " Say that this is UTC, since you don't know their time zone."
    return f"You have set a reminder for {moment_in(due_ms, zone)}; confirm it with that time.{unknown}"
