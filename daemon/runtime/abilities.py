"""The abilities of the soul for the person who is answered, and the look into memory before a reply."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import field

from daemon.core.perception import Modality, Place
from daemon.core.ports.library import Passage, Tool
from daemon.core.sentences import Words
from daemon.core.sessions import key_of
from daemon.core.value import Value
from daemon.core.working_memory import WorkingMemory
from daemon.memory.knowledge.turns import Transcript
from daemon.memory.records import Speaks
from daemon.memory.retrieval.surfacing import AlreadyShown
from daemon.mind.recall import RecalledFacts, as_memory, focus_of, last_thoughts
from daemon.mind.recall.looked_up import SNIPPETS, best_of, lanes_of, with_memories
from daemon.mind.recall.mood import facts_shown
from daemon.runtime.cycle_state import Cycle
from daemon.soul import Soul, talk_budget
from daemon.soul_engine import shown_turns

_SHOWN: Final = 5  # names of folders, tools or people in one line
_LONGEST_NAME: Final = 48
_ODD: Final = re.compile(r"[^\w ./@-]+")
_CLAUSES: Final[Mapping[str, str]] = {
    "help_remember": "remember what they say, and recall it",
    "help_paused": "not remember (they paused it)",
    "help_files": "open files that they send",
    "help_library": "look things up in {folders}",
    "help_tools": "use {tools}",
    "help_allowed": "after a click also {tools}",
    "help_problems": "work in several steps",
    "help_contacts": "hand a question on to {names}",
    "help_reminders": "remind them, also again and again",
    "help_sessions": "say who works on what",
    "help_souls": "hand the thread to {souls}",
}
"""The clause of each ability that the prompt names."""


class Ability(Value):
    """One ability of the soul: its sentence in the table, and the names in it."""

    key: str
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def said(self, words: Words) -> str:
        return words.say(self.key, **{fact: _listed(names, words) for fact, names in self.names.items()})


async def abilities(cycle: Cycle) -> tuple[Ability, ...]:
    """Return all abilities before these readers, for the author of the newest message. Raises StoreError."""
    services, newest = cycle.services, cycle.newest
    paused = bool(await services.store.standing.paused([newest.author]))
    found = [Ability("help_talk"), Ability("help_paused" if paused else "help_remember")]
    if cycle.channel.offers(newest.conversation).files:
        found.append(Ability("help_files"))
    found += _of_work(cycle)
    if services.settings.schedule_max:
        found.append(Ability("help_reminders"))
    if key_of(newest.author) is None:
        found.append(Ability("help_own"))
        if services.tick_budget(cycle.soul) is not None and cycle.channel.offers(newest.conversation).unasked:
            found.append(Ability("help_unasked"))
    return (*found, *await _among_others(cycle))


def _of_work(cycle: Cycle) -> list[Ability]:
    """Return what the soul may look up and do in its autonomous loop here."""
    services = cycle.services
    soul, usable = cycle.soul, services.capabilities.before(cycle.readers)
    if (limits := services.limits(soul)) is None:
        return []
    folders = usable.library.folders if usable.library is not None else {}
    found = [Ability("help_library", {"folders": _names(folders)})] if folders else []
    found += _of_tools(usable.toolbox.known if usable.toolbox is not None else (), writes=not limits.reads_only)
    if not limits.reads_only:
        found.append(Ability("help_problems"))
        if soul.contacts:
            found.append(Ability("help_contacts", {"names": _names(one.name for one in soul.contacts)}))
    return found


async def _among_others(cycle: Cycle) -> list[Ability]:
    """Return the abilities with sessions and other souls, and whether outsiders read along. Raises StoreError."""
    services, readers, found = cycle.services, cycle.readers, list[Ability]()
    if readers.members_only and not readers.apart and await services.asking.living():
        found.append(Ability("help_sessions"))
    if cycle.newest.place is not Place.TERMINAL and await services.notes.others():
        called = await services.notes.called()
        souls = _names(shown for one, shown in called.items() if one != cycle.soul.name)
        found.append(Ability("help_souls", {"souls": souls}))
    return found if readers.members_only else [*found, Ability("help_outsiders")]


def for_prompt(found: Iterable[Ability]) -> str:
    clauses = "; ".join(_clause(one) for one in found if one.key in _CLAUSES)
    return f"For them, here: {clauses}. Offer nothing else; *help* lists it for them."


def _clause(ability: Ability) -> str:
    return _CLAUSES[ability.key].format(**{fact: ", ".join(names[:_SHOWN]) for fact, names in ability.names.items()})


def _of_tools(known: Iterable[Tool], *, writes: bool) -> list[Ability]:
    known = tuple(known)
    reading = _names(tool.name for tool in known if not tool.writes)
    changing = _names(tool.name for tool in known if tool.writes)
    found = [Ability("help_tools", {"tools": reading})] if reading else []
    return [*found, Ability("help_allowed", {"tools": changing})] if changing and writes else found


def _names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names that are safe in a sentence: no markup, none too long."""
    return tuple(name for one in sorted(names) if (name := _ODD.sub(" ", one).strip()[:_LONGEST_NAME]))


def _listed(names: tuple[str, ...], words: Words) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} {words.say('help_more', count=len(names) - _SHOWN)}"


_OF_EACH: Final = 4  # passages for each query of a thought
_OF_READINGS: Final = 3  # newest ones by which a thought that they wake looks something up
_MOST_FOUND: Final = 2 * SNIPPETS


async def look_up(
    cycle: Cycle, soul: Soul, transcript: Transcript, known: RecalledFacts, memory: WorkingMemory
) -> WorkingMemory:
    """Add the memories that surface, which the cycle keeps for the sources of the reply and for *why*.

    The cycle also keeps the ids of the facts about people in the prompt. Text that the prompt shows anyway is left
    out. The cycle's readers decide what may be found.
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
    """Add what is found for some queries after what surfaced before. Each passage keeps its mark."""
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
    return frozenset((*cycle.known_facts, *(one.record for one in cycle.earlier_files)))


async def _on_purpose(cycle: Cycle, query: str) -> tuple[Passage, ...]:
    return _learned(
        cycle, await cycle.services.surfacing.search(cycle.claim.conversation, cycle.readers, query, _OF_EACH)
    )


def _learned(cycle: Cycle, found: tuple[Passage, ...]) -> tuple[Passage, ...]:
    cycle.hosts.learn(*(one.text for one in found if one.names_hosts))
    return found


def _on_its_mind(transcript: Transcript, known: RecalledFacts) -> tuple[str, ...]:
    state = known.own_state
    on_hand = (state.topic, state.task) if state else ()
    matter = " ".join(filter(None, (*on_hand, focus_of(known.thoughts))))
    return (*last_thoughts(transcript.turns, known.readers)[-1:], matter)


async def _talk(cycle: Cycle, lanes: Sequence[str], shown: AlreadyShown) -> tuple[Passage, ...]:
    surfacing = cycle.services.surfacing
    return _learned(cycle, await surfacing.surface(cycle.claim.conversation, cycle.readers, lanes, SNIPPETS, shown))


async def _documents(cycle: Cycle, query: str, around: Sequence[str]) -> tuple[Passage, ...]:
    library = cycle.services.capabilities.before(cycle.readers).library
    found = await library.search(query, SNIPPETS) if library is not None else ()
    lately = await cycle.services.surfacing.lately(cycle.claim.conversation) if found else frozenset[str]()
    found = tuple(one for one in found if one.id not in lately and not any(one.text in text for text in around))
    cycle.hosts.learn(*(one.text for one in found))
    return found


def _shown_from(transcript: Transcript, soul: Soul, process: str) -> int | None:
    turns = transcript.turns
    shown = shown_turns([as_memory(turn) for turn in turns], talk_budget(soul, process), soul.budgets.turn)
    return turns[-len(shown)].seq if shown else None
