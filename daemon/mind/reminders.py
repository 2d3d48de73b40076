"""Reminders: what somebody asks to be reminded of is scheduled before they are answered, so that the answer is true."""

import re
import secrets

from daemon.core.errors import ModelError
from daemon.core.perception import Modality
from daemon.core.timetable import moment, when
from daemon.memory.queues.intentions import Intention, NewIntention
from daemon.mind.mental_process import ProcessContext
from daemon.mind.steps.intend import Wish, intend, reminders_material

_CUE = re.compile(r"\bremind(?:er|ers|s|ed)?\b|\b(?:ping|nudge|wake) me\b", re.IGNORECASE)
_LONGEST = 500  # characters of what is brought up
_NO_ROOM = "there is no room for more reminders"
_NO_TIME = "the time could not be made out, has passed, or is more than a year ahead"  # a quote of it might be an order


async def heed_reminders(context: ProcessContext) -> str:
    """Set or drop reminders as the newest words ask; gives what was done, for the soul to tell, empty for nothing.

    A plain rule looks whether the words are about reminders at all; only then is the mind asked.
    """
    if context.perception.modality is not Modality.WORDS or not any(map(_CUE.search, _said_now(context))):
        return ""
    waiting = await context.capabilities.intended(context.perception.conversation)
    now_ms = context.mind.clock.now_ms()
    lines = [f"{moment(one.due_ms)} UTC: {one.content}" for one in waiting]
    try:
        memory = reminders_material(context.memory, lines)
        _, wish = await context.mind.run(memory, intend(moment(now_ms), len(waiting)))
    except ModelError:
        return "You could not make out which reminder is meant; say so."
    told = [_drop(context, waiting[number - 1]) for number in wish.drop]
    if wish.when and wish.what:
        told.append(await _set(context, wish, now_ms))
    return " ".join(told)


def _said_now(context: ProcessContext) -> list[str]:
    """All that whoever is answered has said since the last reply: few wait with their thanks until they are heard."""
    person = context.perception.author
    return [one.content for one in context.memory if one.metadata.get("source") == person]


def _drop(context: ProcessContext, intention: Intention) -> str:
    """Drop a reminder for whoever had it set; nobody else's words can."""
    if intention.behalf != context.perception.author:
        return f"You may not drop the reminder of {moment(intention.due_ms)} UTC: somebody else had it set. Say so."
    context.motor.cancel(intention.slot)
    return f"You have dropped the reminder of {moment(intention.due_ms)} UTC; confirm it."


async def _set(context: ProcessContext, wish: Wish, now_ms: int) -> str:
    try:
        due_ms = when(wish.when, now_ms)
    except ValueError:
        return f"You could not set the reminder: {_NO_TIME}. Say so and ask for the time."
    if not await context.capabilities.may_intend(len(context.motor.intentions)):
        return f"You could not set the reminder: {_NO_ROOM}. Say so."
    context.motor.schedule(
        NewIntention(
            slot=f"reminder-{secrets.token_hex(4)}",
            due_ms=due_ms,
            content=wish.what[:_LONGEST],
            behalf=context.perception.author,
        )
    )
    return f"You have set a reminder for {moment(due_ms)} UTC; confirm it with that time."
