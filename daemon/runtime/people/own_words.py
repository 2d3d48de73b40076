"""Answers with words of the daemon alone, which no model made."""

from dataclasses import replace

from daemon.memory.queues.memory_acts import MemoryAct
from daemon.memory.records import Delivery
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import effect_of_words
from daemon.runtime.sharing import tell_others


async def say(cycle: Cycle, text: str, *acts: MemoryAct) -> Delivery | None:
    """Answer in the conversation itself and commit, with what is done; returns the first post, claimed for sending.

    Without a text nothing is said. Raises StoreError, LostLease, and ReadersChanged where others read along by now, or
    an act has to be made anew.
    """
    services = cycle.services
    await cycle.require_same_readers()
    parts = services.channel.split(text, cycle.claim.conversation, cycle.hosts) if text else ()
    effect = effect_of_words(cycle, parts, ())
    effect = replace(effect, rooms=cycle.readers.rooms, acts=(*effect.acts, *acts))
    delivery = await services.commits.commit(effect)
    tell_others(cycle, effect)
    return delivery
