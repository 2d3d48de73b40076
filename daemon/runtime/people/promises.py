"""Obeys *not now*: a person doesn't want to hear of what the soul promised them here to come back to."""

from daemon.core.phrases import Phrase
from daemon.memory.queues.promises import PromisesDeclined
from daemon.memory.records import Delivery, Speaks
from daemon.mind.promising import in_short
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.own_words import say


async def is_promised_something(cycle: Cycle) -> bool:
    """Whether the soul promised here to come back to the person who writes; else *not now* is talk like any other."""
    newest = cycle.newest
    if Speaks.of(newest.author) is not Speaks.PERSON or newest.bot:
        return False
    return bool(await cycle.services.minds.promised_here(cycle.claim.conversation, newest.author))


async def decline_promises(cycle: Cycle, _: Phrase) -> Delivery | None:
    """Answer and commit; returns the first post, claimed for sending. Raises what `say` raises."""
    held = await cycle.services.minds.promised_here(cycle.claim.conversation, cycle.newest.author)
    what = ", ".join(f"“{in_short(one)}”" for one in held)
    return await say(cycle, cycle.words.say("promises_declined", what=what), PromisesDeclined())
