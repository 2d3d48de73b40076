"""Answers *help*, *status* and *stop* without a model, from what holds for this person here and now."""

from typing import Final

from daemon.core.phrases import USAGE, Command, Phrase
from daemon.core.text import one_line, shortened
from daemon.memory.queues.typed_commands import STOPS
from daemon.mind.recall.mood import current_mood
from daemon.runtime.abilities import abilities
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.answers import phrase

_LONGEST_WORDS: Final = 60


@phrase(Command.HELP, names_sessions=True)
async def show_help(cycle: Cycle, phrase: Phrase) -> str:
    """Say what the soul can do. Raises StoreError."""
    words = cycle.words
    lines = [words.say("help_head"), "", *(f"- {one.said(words)}" for one in await abilities(cycle))]
    if phrase.words:
        unknown = shortened(one_line(phrase.words), _LONGEST_WORDS).replace("`", "'")
        lines = [words.say("help_unknown", words=unknown), "", *lines]
    return "\n".join((*lines, "", how_to_use(cycle)))


def how_to_use(cycle: Cycle) -> str:
    command = cycle.channel.offers(cycle.newest.conversation).command
    say = cycle.words.say
    return say("help_command", command=command, usage=USAGE) if command else say("help_words", usage=USAGE)


@phrase(Command.STOP)
async def tell_what_stopped(cycle: Cycle, _: Phrase) -> str:
    count = cycle.newest.params.get(STOPS, 0)
    if not count:
        return cycle.words.say("stop_nothing")
    return cycle.words.say("stop_one") if count == 1 else cycle.words.say("stop_several", count=count)


async def status_of_person(cycle: Cycle) -> str:
    """Return the soul's state, as this person may know it, and what waits for them. Raises StoreError."""
    services, newest, say = cycle.services, cycle.newest, cycle.words.say
    soul, audience = cycle.soul, cycle.readers.audience
    state = None
    if audience in cycle.readers.may_know(cycle.claim.conversation.workspace):
        state = await services.store.soul_states.known(audience, cycle.claim.conversation)
    paused = bool(await services.store.standing.paused([newest.author]))
    own = services.capabilities.own_things
    asked = tuple(one.id for one in cycle.messages)
    waiting, reminders = await own.waiting(newest.author, asked), len(await own.reminders(newest.author))
    mood = current_mood(state, services.clock.now_ms(), soul)
    return "\n".join(
        (
            say("status_head", mood=mood),
            say("status_paused" if paused else "status_remembers"),
            say("status_waiting", waiting=waiting, reminders=reminders),
        )
    )
