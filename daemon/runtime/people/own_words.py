"""Answers with words of the daemon alone, which no model made."""

from dataclasses import replace

from daemon.memory.records import Delivery
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import effect_of_words


async def say(cycle: Cycle, text: str) -> Delivery | None:
    """Answer in the conversation itself and commit; returns the first post, claimed for sending.

    Raises StoreError, LostLease, and ReadersChanged where others read along by now.
    """
    services = cycle.services
    await cycle.require_same_readers()
    parts = services.channel.split(text, cycle.claim.conversation, cycle.hosts)
    return await services.commits.commit(replace(effect_of_words(cycle, parts, ()), rooms=cycle.readers.rooms))
