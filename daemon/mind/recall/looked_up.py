"""Memories that surfaced before the reply, in the prompt's region `memories`, with their marks and sources."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from daemon.core.fencing import NAME_CAP
from daemon.core.lineage import UNFOLLOWED, document_id, saw
from daemon.core.ports.library import Passage
from daemon.core.sentences import HOUSE_WORDS, Words
from daemon.core.tempo import dated
from daemon.core.text import shortened
from daemon.core.value import Value
from daemon.core.windows import window_of_tokens
from daemon.core.words import Term, terms_of, words_of
from daemon.core.working_memory import Memory, Role, WorkingMemory, estimate_tokens
from daemon.memory.mind.documents import HeldPart, MindDocument
from daemon.memory.mind.listing import Documents
from daemon.memory.mind.self_model import ACCURACY, GROWTH, STATE, UNCERTAINTIES, SoulValue, values_in_force
from daemon.memory.mind.world_model import SURROUNDINGS
from daemon.mind.citations import Citations, listed
from daemon.mind.prompts import prompt
from daemon.soul import Soul
from daemon.soul_engine import IDENTITY, MEMORIES, SELF_MODEL, TURN_OVERHEAD, WORLD_MODEL

SNIPPETS: Final = 6
SIGNIFICANCE, TONE, WHEN = "significance", "tone", "when_ms"
"""The keys of a snippet's metadata."""

_OF_BEST: Final = 0.4  # the share of the best snippet's fit below which one of a document is no help
_LEAST: Final = 0.01  # fit; a chance hit has none
_FEWEST_TERMS: Final = 3  # with fewer, the words before are a lane too: "and who has it?"
_ASKS: Final = re.compile("[?？؟]\\s*$")  # noqa: RUF001
_MARKS: Final = Citations(r"m\d{1,2}")


def lanes_of(newest: Sequence[str], before: Sequence[str], mind: Sequence[str]) -> tuple[str, ...]:
    """Return the texts by which memory is searched, one by one: the newest words first, then the topics on `mind`.

    Where the newest words say little, the user's last words before them are searched too. Nothing said gives no text.
    """
    query = "\n".join(newest).strip()
    if not query:
        return ()
    terms = terms_of(query)
    says_little = len(terms) < _FEWEST_TERMS and (terms or _ASKS.search(query))
    return tuple(dict.fromkeys((query, *(before[-1:] if says_little else ()), *(one for one in mind if one.strip()))))


def best_of(talk: Sequence[Passage], documents: Sequence[Passage], query: str) -> tuple[Passage, ...]:
    """Return the best passages: memories in their order, each document before the first memory that fits less.

    A document that says no more than the query is left out.
    """
    asked = frozenset(words_of(query))
    best = max((one.fit for one in (*talk, *documents)), default=0.0)
    read = [
        one for one in documents if one.fit >= max(_OF_BEST * best, _LEAST) and not asked.issuperset(words_of(one.text))
    ]
    found: list[Passage] = []
    for one in talk:
        while read and read[0].fit >= one.fit:
            found.append(read.pop(0))
        found.append(one)
    return (*found, *read)[:SNIPPETS]


def with_memories(memory: WorkingMemory, found: Sequence[Passage], query: str, budget: int) -> WorkingMemory:
    """Add the passages found, as windows around the words of the query that share a budget of tokens."""
    terms = terms_of(query)
    left = budget - estimate_tokens(prompt("surfaced"))
    shown: list[Memory] = []
    for place, (mark, one) in enumerate(marked(found).items()):
        note = _note(mark, one, terms, left // (len(found) - place) - TURN_OVERHEAD)
        if note.content:
            shown.append(note)
            left -= estimate_tokens(note.content) + TURN_OVERHEAD
    return memory.with_region(MEMORIES, *((Memory(Role.SYSTEM, prompt("surfaced")), *shown) if shown else ()))


def marked(found: Sequence[Passage]) -> dict[str, Passage]:
    """Number the passages by marks such as `m1`. Plain numbers belong to the results of autonomous work."""
    return {f"m{number}": one for number, one in enumerate(found, 1)}


def source_id(passage: Passage) -> str:
    """Return the id by which a thought that saw a passage is followed: its memory's, or its whole document's."""
    return document_id(passage.document) if passage.document else passage.id or UNFOLLOWED


def with_sources(reply: str, found: Sequence[Passage], words: Words = HOUSE_WORDS) -> str:
    """Return a reply with its cited sources below it, and without unknown marks."""
    text, cited = _MARKS.checked(reply, {mark: one.source for mark, one in marked(found).items()})
    return "\n\n".join(filter(None, (text, listed(cited, words))))


def _note(mark: str, passage: Passage, terms: Sequence[Term], tokens: int) -> Memory:
    details = [
        *([passage.id] if passage.id and not passage.document else []),
        *([f"weight {passage.significance} of 10"] if passage.significance else []),
        *([passage.tone] if passage.tone else []),
        *(["no longer so"] if passage.outdated else []),
        *(["said by yourself"] if passage.own else []),
    ]
    behind = "".join(f", {one}" for one in details)
    source = shortened(passage.source, NAME_CAP - len(f"[{mark}] {behind}"))
    text = window_of_tokens(passage.text, terms, max(0, tokens))
    known = {SIGNIFICANCE: str(passage.significance), TONE: passage.tone, WHEN: str(passage.when_ms)}
    return Memory(Role.USER, text, name=f"[{mark}] {source}{behind}", metadata=saw(source_id(passage)) | known)


CAUSAL: Final = frozenset({"causes", "caused_by", "because", "leads_to", "prevents", "depends_on"})
"""The attributes of an entity that are causal beliefs."""


class HeldSelf(Value):
    """The soul's view of itself, from the readers' own words before the workspace's. Old entries are dated."""

    current_state: str = ""
    recent_growth: str = ""
    accuracy: str = ""
    uncertainties: tuple[str, ...] = ()


class HeldWorld(Value):
    """The soul's view of its world: attributes by entity, the newest first, its surroundings, and its beliefs."""

    entities: Mapping[str, Mapping[str, str]]
    context: str = ""
    safety: str = ""
    causal_beliefs: tuple[str, ...] = ()


def held_self(documents: Documents, now_ms: int) -> HeldSelf:
    """Return the self model in force at a moment (ms, UTC)."""
    held = _of(documents, MindDocument.SELF_MODEL)
    said = {one.part: _dated(one, now_ms) for one in held if one.part != UNCERTAINTIES}
    doubts = {one.attribute: _dated(one, now_ms) for one in reversed(held) if one.part == UNCERTAINTIES}
    return HeldSelf(
        said.get(STATE, ""), said.get(GROWTH, ""), said.get(ACCURACY, ""), tuple(dict.fromkeys(doubts.values()))
    )


def held_world(documents: Documents, now_ms: int) -> HeldWorld:
    """Return the world model in force at a moment (ms, UTC)."""
    held = _of(documents, MindDocument.WORLD_MODEL)
    around = {one.attribute: _dated(one, now_ms) for one in held if one.part == SURROUNDINGS}
    entities, beliefs = dict[str, dict[str, str]](), list[str]()
    for one in reversed(held):
        if one.part == SURROUNDINGS:
            continue
        if one.attribute in CAUSAL:
            beliefs.append(f"{one.part} {_spaced(one.attribute)} {_dated(one, now_ms)}")
        else:
            entities.setdefault(one.part, {}).setdefault(one.attribute, _dated(one, now_ms))
    return HeldWorld(entities, around.get("context", ""), around.get("safety", ""), tuple(beliefs))


def active_values(soul: Soul, documents: Documents) -> tuple[SoulValue, ...]:
    return tuple(one for one in values_in_force(soul.values, documents.values) if one.active)


def with_documents(memory: WorkingMemory, soul: Soul, documents: Documents, now_ms: int) -> WorkingMemory:
    """Add the soul's values, self model and world model, as data, since they may quote people."""
    if soul.mind != "cycle":
        return memory
    about, world = held_self(documents, now_ms), held_world(documents, now_ms)
    values = "; ".join(
        f"{one.name}: {one.meaning}" if one.meaning else one.name for one in active_values(soul, documents)
    )
    lines = {
        IDENTITY: (
            _line("Your values", values),
            _line("Your own text about yourself", documents.own.text),
            _line("Your draft of it, not in force", documents.own.draft),
        ),
        SELF_MODEL: (
            _line("How you are", about.current_state),
            *(_line("Unsure of", one) for one in about.uncertainties),
            _line("Learned", about.recent_growth),
            _line("Of your predictions", about.accuracy),
        ),
        WORLD_MODEL: (
            _line("Where you are", _place(world)),
            *(_line(entity, _attributes(held)) for entity, held in world.entities.items()),
            *(_line("You believe", one) for one in world.causal_beliefs),
        ),
    }
    for region, said in lines.items():
        text = "\n".join(filter(None, said))
        if text:
            memory = memory.with_region(region, Memory(Role.USER, text, metadata=saw(*documents.thoughts)))
    return memory


def _place(world: HeldWorld) -> str:
    return "; ".join(filter(None, (world.context, _line("safety", world.safety))))


def _of(documents: Documents, document: MindDocument) -> list[HeldPart]:
    return [one for one in documents.held if one.document is document]


def _dated(one: HeldPart, now_ms: int) -> str:
    return dated(one.words, one.at_ms, now_ms)


def _attributes(held: Mapping[str, str]) -> str:
    return "; ".join(f"{_spaced(name)}: {words}" for name, words in held.items())


def _spaced(attribute: str) -> str:
    return attribute.replace("_", " ")


def _line(what: str, words: str) -> str:
    return f"{what}: {words}" if words else ""
