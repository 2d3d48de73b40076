"""What the person who writes has open beside the talk, found for this one reply where they alone read it."""

from daemon.core.perception import AudienceKind, Modality
from daemon.core.working_memory import WorkingMemory
from daemon.mind.recall.beside import with_beside
from daemon.runtime.cycle_state import Cycle


async def look_beside(cycle: Cycle, memory: WorkingMemory) -> WorkingMemory:
    """Working memory with it, in direct messages. `cycle.beside` keeps it for the reply alone. Raises StoreError."""
    newest, readers = cycle.newest, cycle.readers
    if newest.modality is not Modality.WORDS or readers.audience.kind is not AudienceKind.DM or readers.apart:
        return memory
    seen = await cycle.services.known.open_beside(newest.author)
    cycle.beside = await cycle.services.channel.beside(newest, readers, seen) if seen else ()
    return with_beside(memory, cycle.beside, cycle.claim.conversation.workspace)
