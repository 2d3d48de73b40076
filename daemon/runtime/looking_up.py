"""What surfaces before a reply: memories that its readers may know, and the library, by what is on the soul's mind.

It costs no model call and never a reply: where it fails, the reply is made without it.
"""

from collections.abc import Sequence
from typing import Final

from daemon.core.perception import Modality
from daemon.core.ports.library import Passage
from daemon.core.working_memory import WorkingMemory
from daemon.memory.knowledge.turns import Transcript
from daemon.memory.records import Speaks
from daemon.memory.retrieval.surfacing import AlreadyShown
from daemon.mind.recall import RecalledFacts, as_memory
from daemon.mind.recall.looked_up import SNIPPETS, best_of, lanes_of, with_memories
from daemon.mind.recall.people import facts_shown
from daemon.mind.recall.stream import focus_of
from daemon.mind.recall.thoughts import last_thoughts
from daemon.runtime.cycle_state import Cycle
from daemon.soul import Soul, talk_budget
from daemon.soul_engine import shown_turns

_OF_EACH: Final = 4  # passages for each query of a thought
_OF_READINGS: Final = 3  # newest ones by which a thought that they wake looks something up
_MOST_FOUND: Final = 2 * SNIPPETS


async def look_up(
    cycle: Cycle, soul: Soul, transcript: Transcript, known: RecalledFacts, memory: WorkingMemory
) -> WorkingMemory:
    """Working memory with what surfaces; the cycle keeps it for the sources of the reply and for *why*.

    For that it also keeps which facts about people stand in the prompt.

    What the prompt shows anyway, in its transcript or around it, is left out. The cycle's readers decide what may be
    found.
    """
    cycle.known_facts = facts_shown(memory, *known.people.values())
    asks = {Modality.WORDS, Modality.NOTE}
    newest = [one.content for one in cycle.perceptions if one.modality in asks]
    if cycle.newest.modality is Modality.SENSE:
        newest += [one.words for one in known.at_hand.sensed.readings[:_OF_READINGS]]
    said = [turn.body for turn in transcript.turns if turn.speaker is not Speaks.SOUL]
    lanes = lanes_of(newest, said, _on_its_mind(transcript, known))
    if cycle.newest.author in cycle.paused or not lanes:
        return memory
    around = tuple(one.text for one in (*known.thread, *known.aside))
    shown = AlreadyShown(_shown_from(transcript, soul, cycle.claim.state.process), around, _in_the_prompt(cycle))
    try:
        found = best_of(await _talk(cycle, lanes, shown), await _documents(cycle, lanes[0], around), lanes[0])
    except Exception as error:  # noqa: BLE001  # whatever breaks in a search, people get their reply
        cycle.services.emit("lookup.failed", trace=cycle.trace_id, error=error)
        return memory
    cycle.found = found
    await cycle.show_done("done_look_up", len(found))
    return with_memories(memory, found, lanes[0], soul.budgets.memories)


async def look_again(cycle: Cycle, soul: Soul, memory: WorkingMemory, queries: Sequence[str]) -> WorkingMemory:
    """The memory with what is found for some queries behind what surfaced before; each passage keeps its mark."""
    if cycle.newest.author in cycle.paused:
        return memory
    found = list(cycle.found)
    try:
        for query in queries:
            again = [one for one in await _on_purpose(cycle, query) if one.id not in _in_the_prompt(cycle)]
            found += [*again, *await _documents(cycle, query, ())][:_OF_EACH]
    except Exception as error:  # noqa: BLE001  # whatever breaks in a search, people get their reply
        cycle.services.emit("lookup.failed", trace=cycle.trace_id, error=error)
        return memory
    by_text = {one.text: one for one in reversed(found)}
    cycle.found = tuple(one for one in dict.fromkeys(found) if by_text[one.text] is one)[:_MOST_FOUND]
    return with_memories(memory, cycle.found, "\n".join(queries), soul.budgets.memories)


def _in_the_prompt(cycle: Cycle) -> frozenset[str]:
    """The ids of the records that the prompt shows anyway: facts about its people, and files of the talk."""
    return frozenset((*cycle.known_facts, *(one.record for one in cycle.earlier_files)))


async def _on_purpose(cycle: Cycle, query: str) -> tuple[Passage, ...]:
    """What is remembered of a query, also what surfaced lately."""
    return _learned(
        cycle, await cycle.services.surfacing.search(cycle.claim.conversation, cycle.readers, query, _OF_EACH)
    )


def _learned(cycle: Cycle, found: tuple[Passage, ...]) -> tuple[Passage, ...]:
    """The same; a reply may link to hosts that people named in its own channel."""
    cycle.hosts.learn(*(one.text for one in found if one.names_hosts))
    return found


def _on_its_mind(transcript: Transcript, known: RecalledFacts) -> tuple[str, ...]:
    """What the soul thought last before these readers, and the matter that it works on or looks out for with them."""
    state = known.own_state
    on_hand = (state.topic, state.task) if state else ()
    matter = " ".join(filter(None, (*on_hand, focus_of(known.thoughts))))
    return (*last_thoughts(transcript.turns, known.readers)[-1:], matter)


async def _talk(cycle: Cycle, lanes: Sequence[str], shown: AlreadyShown) -> tuple[Passage, ...]:
    surfacing = cycle.services.surfacing
    return _learned(cycle, await surfacing.surface(cycle.claim.conversation, cycle.readers, lanes, SNIPPETS, shown))


async def _documents(cycle: Cycle, query: str, around: Sequence[str]) -> tuple[Passage, ...]:
    """Passages of the admin's folders that these readers may know; a reply may link to the hosts that they name."""
    library = cycle.services.capabilities.before(cycle.readers).library
    found = await library.search(query, SNIPPETS) if library is not None else ()
    lately = await cycle.services.surfacing.lately(cycle.claim.conversation) if found else frozenset[str]()
    found = tuple(one for one in found if one.id not in lately and not any(one.text in text for text in around))
    cycle.hosts.learn(*(one.text for one in found))
    return found


def _shown_from(transcript: Transcript, soul: Soul, process: str) -> int | None:
    """The seq of the first turn that the prompt shows; None where it shows none."""
    turns = transcript.turns
    shown = shown_turns([as_memory(turn) for turn in turns], talk_budget(soul, process), soul.budgets.turn)
    return turns[-len(shown)].seq if shown else None
