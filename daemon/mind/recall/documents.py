"""The documents of a mind as a thought is given them: the typed view, and the same words as regions of its prompt."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from daemon.core.lineage import saw
from daemon.core.spans import dated
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.memory.mind.documents import HeldPart, MindDocument
from daemon.memory.mind.documents_at_hand import Documents
from daemon.memory.mind.self_model import ACCURACY, GROWTH, STATE, UNCERTAINTIES
from daemon.memory.mind.values import SoulValue, values_in_force
from daemon.memory.mind.world_model import SURROUNDINGS
from daemon.soul import Soul
from daemon.soul_engine import IDENTITY, SELF_MODEL, WORLD_MODEL

CAUSAL: Final = frozenset({"causes", "caused_by", "because", "leads_to", "prevents", "depends_on"})
"""Attributes of an entity that say why: they are its causal beliefs."""


@dataclass(frozen=True, slots=True)
class HeldSelf:
    """What a soul holds of itself, the readers' own words before the workspace's; what is old says how old it is."""

    current_state: str = ""
    recent_growth: str = ""
    accuracy: str = ""
    uncertainties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HeldWorld:
    """What a soul holds of its world: attributes by entity, the newest first; where it is; what it believes."""

    entities: Mapping[str, Mapping[str, str]]
    context: str = ""
    safety: str = ""
    causal_beliefs: tuple[str, ...] = ()


def held_self(documents: Documents, now_ms: int) -> HeldSelf:
    """The self model in force at a moment (ms, UTC)."""
    held = _of(documents, MindDocument.SELF_MODEL)
    said = {one.part: _dated(one, now_ms) for one in held if one.part != UNCERTAINTIES}
    doubts = {one.attribute: _dated(one, now_ms) for one in reversed(held) if one.part == UNCERTAINTIES}
    return HeldSelf(
        said.get(STATE, ""), said.get(GROWTH, ""), said.get(ACCURACY, ""), tuple(dict.fromkeys(doubts.values()))
    )


def held_world(documents: Documents, now_ms: int) -> HeldWorld:
    """The world model in force at a moment (ms, UTC)."""
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
    """The values that a soul holds now."""
    return tuple(one for one in values_in_force(soul.values, documents.values) if one.active)


def with_documents(memory: WorkingMemory, soul: Soul, documents: Documents, now_ms: int) -> WorkingMemory:
    """Put what a soul holds to, of itself and of its world: data, since it may quote people."""
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
    """Where the soul is, as it said."""
    return "; ".join(filter(None, (world.context, _line("safety", world.safety))))


def _of(documents: Documents, document: MindDocument) -> list[HeldPart]:
    return [one for one in documents.held if one.document is document]


def _dated(one: HeldPart, now_ms: int) -> str:
    """The words of a part; what was said months ago is not told as if it were said today."""
    return dated(one.words, one.at_ms, now_ms)


def _attributes(held: Mapping[str, str]) -> str:
    return "; ".join(f"{_spaced(name)}: {words}" for name, words in held.items())


def _spaced(attribute: str) -> str:
    return attribute.replace("_", " ")


def _line(what: str, words: str) -> str:
    return f"{what}: {words}" if words else ""
