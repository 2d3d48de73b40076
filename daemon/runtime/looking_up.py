"""The search before a reply: earlier talk that its readers may know, and the library, by the newest words.

It costs no model call and never a reply: where it fails, the reply is made without it.
"""

from collections.abc import Sequence

from daemon.core.perception import Modality
from daemon.core.ports import Passage, ThreadMessage
from daemon.core.working_memory import WorkingMemory
from daemon.memory.knowledge.turns import Transcript
from daemon.memory.records import Speaks
from daemon.mind.recall import as_memory
from daemon.mind.recall.looked_up import SNIPPETS, best_of, query_of, with_memories
from daemon.runtime.cycle_state import Cycle
from daemon.soul import Soul
from daemon.soul_engine import shown_turns

_OF_EACH = SNIPPETS + 2  # passages from each place, of which the best are shown


async def look_up(
    cycle: Cycle, soul: Soul, transcript: Transcript, around: Sequence[ThreadMessage], memory: WorkingMemory
) -> WorkingMemory:
    """Working memory with what the newest words of users find; the cycle keeps it for the sources of the reply.

    What the prompt shows anyway, in its transcript or as the messages `around`, is left out. The cycle's readers decide
    what may be found.
    """
    newest = [one.content for one in cycle.perceptions if one.modality is Modality.WORDS]
    said = [turn.body for turn in transcript.turns if turn.speaker is Speaks.PERSON]
    if not newest or not (query := query_of(newest, said)).strip():
        return memory
    try:
        found = (*await _talk(cycle, soul, transcript, query), *await _documents(cycle, query))
    except Exception as error:  # noqa: BLE001  # whatever breaks in a search, people get their reply
        cycle.services.emit("lookup.failed", trace=cycle.trace_id, error=error)
        return memory
    cycle.found = best_of(found, query, [one.text for one in around])
    return with_memories(memory, cycle.found, query, soul.budgets.memories)


async def _talk(cycle: Cycle, soul: Soul, transcript: Transcript, query: str) -> tuple[Passage, ...]:
    """Earlier turns. A reply may link to hosts named in its own channel; what is said elsewhere is no such promise."""
    found = await cycle.services.look_up(
        cycle.claim.conversation, cycle.readers, query, _OF_EACH, _shown_from(transcript, soul)
    )
    cycle.hosts.learn(*(one.text for one in found if not one.members_only and not one.own))
    return found


async def _documents(cycle: Cycle, query: str) -> tuple[Passage, ...]:
    """Passages of the admin's folders that these readers may know; a reply may link to the hosts that they name."""
    library = cycle.services.capabilities.before(cycle.readers).library
    found = await library.search(query, _OF_EACH) if library is not None else ()
    cycle.hosts.learn(*(one.text for one in found))
    return found


def _shown_from(transcript: Transcript, soul: Soul) -> int | None:
    """The seq of the first turn that the prompt shows; None where it shows none."""
    turns = transcript.turns
    shown = shown_turns([as_memory(turn) for turn in turns], soul.budgets.transcript, soul.budgets.turn)
    return turns[-len(shown)].seq if shown else None
