"""Answers *who is working on what?* and *what is Ada working on?* without a model: the daemon's own list."""

from daemon.core.phrases import Command, Phrase
from daemon.memory.records import Delivery
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.own_words import say
from daemon.shared.who_works import is_of, listed, listed_of


async def show_who_works(cycle: Cycle, phrase: Phrase) -> Delivery | None:
    """Answer and commit, where all who read may see it; returns the first post, claimed for sending.

    Raises StoreError, LostLease, and ReadersChanged where others read along by now.
    """
    delivery = await say(cycle, await _answer(cycle, phrase))
    cycle.services.emit("sessions.asked", command=phrase.command, trace=cycle.trace_id)
    return delivery


async def asks_for_sessions(cycle: Cycle, phrase: Phrase) -> bool:
    """Whether the name in a phrase is a mention, or leads to a session; else it may be anything, as a team or a topic.

    Where others than full members read it counts as one, so that no answer shows which sessions there are. Raises
    StoreError.
    """
    if phrase.words.startswith("<@") or not cycle.readers.members_only:
        return True
    return any(is_of(one, phrase.words) for one in await cycle.services.asking.living.seen())


async def _answer(cycle: Cycle, phrase: Phrase) -> str:
    if not cycle.readers.members_only:
        return cycle.words.say("work_not_here")
    sessions = await cycle.services.asking.living.seen()
    if phrase.command is Command.WORKS_ON:
        return listed_of(phrase.words, sessions, cycle.words)
    return listed(sessions, cycle.words)
