"""The action Remind: bring something up in this conversation later."""

import hashlib

from daemon.core.timeframes import due_time
from daemon.core.timetable import moment_in
from daemon.ism.machine import Action, ActionUse, Recurse
from daemon.memory.queues.intention_rows import NewIntention
from daemon.mind.process import ProcessContext
from daemon.mind.reply import words_aloud


def remind(context: ProcessContext) -> Action:
    """Build the action. Its input says when and what."""

    async def handle(use: ActionUse) -> Recurse:
        due, _, rest = use.input.partition(": ")
        what = words_aloud(rest)
        if not what:
            return use.recurse(
                observation="Give the time, a colon and a space, and what to bring up, like `in 2h: the build`."
            )
        try:
            due_ms = due_time(due.strip(), context.mind.clock.now_ms(), context.perception.zone)
        except ValueError as error:
            return use.recurse(observation=f"That time can't be read: {error}")
        if not await context.capabilities.may_intend(context.perception.author, len(context.motor.intentions)):
            return use.recurse(observation="They have as many reminders waiting as fit; tell them so.")
        context.motor.schedule(
            NewIntention(
                slot=_slot(context.perception.author, what),
                due_ms=due_ms,
                content=what,
                behalf=context.perception.author,
            )
        )
        return use.recurse(observation=f"It will be brought up on {moment_in(due_ms, context.perception.zone)}.")

    return Action(
        "Remind",
        "bring something up here later; input: when, a colon, and what, like `in 2h: ask about the build`",
        handle,
    )


def _slot(behalf: str, what: str) -> str:
    words = " ".join((behalf, *what.casefold().split()))
    return f"reminder-{hashlib.sha256(words.encode()).hexdigest()[:12]}"
