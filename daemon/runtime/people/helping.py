"""Answers *help*, *status* and *my reminders* without a model, from what holds for this person here and now."""

from typing import Final

from daemon.core.phrases import USAGE, Phrase
from daemon.core.text import one_line, shortened
from daemon.core.timetable import moment_in
from daemon.memory.queues.intention_rows import Intention
from daemon.memory.records import Delivery
from daemon.mind.recall.mood import current_mood
from daemon.runtime.abilities import abilities
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.own_words import say

_LONGEST_WORDS: Final = 60
_LONGEST_REMINDER: Final = 160
_SHOWN: Final = 40  # reminders in one list


async def show_help(cycle: Cycle, phrase: Phrase) -> Delivery | None:
    """Say what it can do, and commit; returns the first post, claimed for sending.

    Raises StoreError, LostLease, ReadersUnknown, and ReadersChanged where others read along by now.
    """
    cycle.require_known_readers()
    words, services = cycle.words, cycle.services
    lines = [words.say("help_head"), "", *(f"- {one.said(words)}" for one in await abilities(cycle))]
    if phrase.words:
        unknown = shortened(one_line(phrase.words), _LONGEST_WORDS).replace("`", "'")
        lines = [words.say("help_unknown", words=unknown), "", *lines]
    command = services.channel.offers(cycle.newest.conversation).command
    how = words.say("help_command", command=command, usage=USAGE) if command else words.say("help_words", usage=USAGE)
    delivery = await say(cycle, "\n".join((*lines, "", how)))
    services.emit("help.asked", trace=cycle.trace_id, unknown=bool(phrase.words))
    return delivery


async def status_of_person(cycle: Cycle) -> str:
    """How the soul is, as this person may know it, and what waits for them with it. Raises StoreError."""
    services, newest, say = cycle.services, cycle.newest, cycle.words.say
    soul, audience = services.soul(), cycle.readers.audience
    state = None
    if audience in cycle.readers.may_know(cycle.claim.conversation.workspace):
        state = await services.soul_states.known(audience, cycle.claim.conversation)
    paused = bool(await services.standing.paused([newest.author]))
    own = services.capabilities.own_things
    waiting, reminders = await own.waiting(newest.author), len(await own.reminders(newest.author))
    mood = current_mood(state, services.clock.now_ms(), soul)
    return "\n".join(
        (
            say("status_head", mood=mood),
            say("status_paused" if paused else "status_remembers"),
            say("status_waiting", waiting=waiting, reminders=reminders),
        )
    )


async def reminders_of_person(cycle: Cycle) -> str:
    """All that a person asked to be reminded of, in their own time zone. Raises StoreError."""
    say, newest = cycle.words.say, cycle.newest
    waiting = await cycle.services.capabilities.own_things.reminders(newest.author)
    if not waiting:
        return say("reminders_none")
    lines = [_line(cycle, one) for one in waiting[:_SHOWN]]
    more = [say("help_more", count=len(waiting) - _SHOWN)] if len(waiting) > _SHOWN else []
    return "\n".join((say("reminders_head"), *lines, *more, "", say("reminders_how")))


def _line(cycle: Cycle, reminder: Intention) -> str:
    facts = {
        "when": moment_in(reminder.due_ms, cycle.newest.zone),
        "what": shortened(one_line(reminder.content), _LONGEST_REMINDER) or "…",
    }
    if reminder.cue:
        return cycle.words.say("reminders_cue", **facts)
    if reminder.every:
        return cycle.words.say("reminders_every", every=reminder.every, **facts)
    return cycle.words.say("reminders_line", **facts)
