"""Obeys *not now*: a person declines what the soul promised here, or said unasked."""

from collections.abc import Sequence

from daemon.core.initiative import next_pause
from daemon.core.phrase_words import time_in
from daemon.core.phrases import Command, Phrase
from daemon.core.sentences import Words
from daemon.memory.queues.initiatives import NotNow
from daemon.memory.queues.memory_acts import MemoryAct
from daemon.memory.queues.promises import PromisesDeclined
from daemon.memory.records import Speaks
from daemon.mind.motor import in_short
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.answers import Answer, phrase


async def says_what_is_unwanted(cycle: Cycle) -> bool:
    """Return whether the person may mean a promise of the soul here, or an unasked post. Else *not now* is talk."""
    newest, where, minds = cycle.newest, cycle.claim.conversation, cycle.services.store.minds
    if Speaks.of(newest.author) is not Speaks.PERSON or newest.bot:
        return False
    return (
        bool(await minds.promised_here(where, newest.author, _below(cycle)))
        or await minds.unwanted_from(where, newest.author) is not None
    )


@phrase(Command.NOT_NOW)
async def decline_unasked(cycle: Cycle, _: Phrase) -> Answer:
    newest, where, minds = cycle.newest, cycle.claim.conversation, cycle.services.store.minds
    lines, acts = list[str](), list[MemoryAct]()
    if held := await minds.promised_here(where, newest.author, below := _below(cycle)):
        lines.append(cycle.words.say("promises_declined", what=named(cycle.words, held)))
        acts.append(PromisesDeclined(below))
    if (who := await minds.unwanted_from(where, newest.author)) is not None:
        found = await minds.invitation_of(where, who)
        until = cycle.services.clock.now_ms() + next_pause(found.pause_ms)
        lines.append(cycle.words.say("not_now_besides" if held else "not_now_paused", when=time_in(until, newest.zone)))
        acts.append(NotNow())
    return Answer("\n".join(lines), tuple(acts))


def _below(cycle: Cycle) -> str:
    """Return the thread of *not now*, empty where it begins one: then it means the whole talk."""
    thread = cycle.channel.reply_to(cycle.newest)
    return "" if thread == cycle.newest.ts else thread


def named(words: Words, goals: Sequence[str]) -> str:
    """Name these goals in one sentence, each in the quotation marks of its language."""
    *several, last = (words.say("promises_named", what=in_short(one)) for one in goals)
    return words.say("promises_and", several=", ".join(several), last=last) if several else last
