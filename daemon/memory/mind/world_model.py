"""A soul's picture of its world for one audience (entities, beliefs about people present), and shifts of its mood."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

from daemon.core.timetable import MINUTE_MS
from daemon.core.value import Value
from daemon.core.words import words_of
from daemon.memory.database import Transaction
from daemon.memory.knowledge.soul_states import OwnFeeling, keep_feeling
from daemon.memory.mind.documents import HeldPart, MindDocument, NewPart, add_part, make_room, parts_in_force
from daemon.memory.mind.present import Present, is_known, present_there
from daemon.memory.queues.remembering import tie
from daemon.memory.thought_parts import PartsTaken, StoredThought

MOST_ENTITIES, MOST_ATTRIBUTES = 50, 8
"""The most entities of one audience, and the most attributes of an entity."""

BELIEFS: Final = frozenset({"mood", "habit", "relationship"})
"""The attributes of a person that may be believed for a while. Others are learned from their words, or not at all."""

FADES_MS: Final = 14 * 24 * 60 * MINUTE_MS
"""Milliseconds until a belief about a person expires, unless it is said again."""

SURROUNDINGS: Final = "environment"
"""The entity whose attributes describe the soul's surroundings."""

_BY_THE_CLOCK: Final = "last_seen"
"""The attribute of a person that the daemon knows itself. Thoughts can't set it."""

_OF_SURROUNDINGS: Final = frozenset({"context", "safety"})
_MODEL: Final = MindDocument.WORLD_MODEL


class WorldModelPatch(Value):
    """The changes of one thought to the world model: attributes by entity, without lasting facts about people."""

    said: Mapping[str, Mapping[str, str]]
    field: ClassVar[str] = "world_model_updates"

    @property
    def size(self) -> int:
        return sum(map(len, self.said.values()))

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        """Apply the changes (see `ThoughtPart.take`). Lasting attributes of a person are counted, but not stored."""
        held = list(await parts_in_force(transaction, thought, _MODEL))
        present = await present_there(transaction, thought)
        done, refused = 0, list[str]()
        for entity, attributes in self.said.items():
            for attribute, words in attributes.items():
                new = await _part_of(transaction, thought, present, (entity, attribute, words))
                if isinstance(new, NewPart) and (full := _in_its_way(new, held)):
                    gone = await make_room(transaction, thought, full)
                    held = [one for one in held if one not in (gone or ())]
                    new = new if gone else "too_many"
                if isinstance(new, str):
                    refused.append(new)
                    continue
                done += 1
                if isinstance(new, NewPart):
                    new = _under_its_name(new, held)
                    await add_part(transaction, thought, new)
                    held.append(_as_held(new, thought))
        return PartsTaken(done, refused)


async def _part_of(
    transaction: Transaction, thought: StoredThought, present: Present, said: tuple[str, str, str]
) -> NewPart | str | None:
    """Return the row for one attribute, the reason if refused, or None if it is learned in another way."""
    entity, attribute, words = said[0], "_".join(words_of(said[1])) or said[1], said[2]
    if entity.casefold() == SURROUNDINGS:
        known = attribute in _OF_SURROUNDINGS
        return NewPart(_MODEL, SURROUNDINGS, words, attribute) if known else "unknown"
    who = present.called(entity)
    if who is not None and attribute == _BY_THE_CLOCK:
        return "unknown"
    if who is not None and attribute in BELIEFS:
        until = thought.now + FADES_MS
        return NewPart(_MODEL, who.name, words, attribute, person=who.id, until_ms=until)
    if who is not None:
        return None
    if attribute in BELIEFS or await is_known(transaction, thought, entity):
        return "not_present"
    return NewPart(_MODEL, entity, words, attribute)


def _under_its_name(new: NewPart, held: Iterable[HeldPart]) -> NewPart:
    names = (one.part for one in held if _is_same(one, new))
    return NewPart(
        new.document, next(names, new.part), new.words, new.attribute, person=new.person, until_ms=new.until_ms
    )


def _in_its_way(new: NewPart, held: Iterable[HeldPart]) -> Sequence[Sequence[HeldPart]]:
    """Return the things of which one must be removed to make room. Empty if there is room."""
    if new.part == SURROUNDINGS:
        return ()
    others = [one for one in held if one.part != SURROUNDINGS]
    of_it = {one.attribute: one for one in others if _is_same(one, new)}
    if new.attribute in of_it:
        return ()
    if of_it:
        return [(one,) for one in of_it.values()] if len(of_it) >= MOST_ATTRIBUTES else ()
    entities = defaultdict[str, list[HeldPart]](list)
    for one in others:
        entities[one.part].append(one)
    return tuple(entities.values()) if len(entities) >= MOST_ENTITIES else ()


def _is_same(one: HeldPart, new: NewPart) -> bool:
    if new.person or one.person:
        return one.person == new.person
    return one.part.casefold() == new.part.casefold()


def _as_held(new: NewPart, thought: StoredThought) -> HeldPart:
    return HeldPart(
        new.document,
        str(thought.audience),
        new.part,
        new.attribute,
        new.act,
        new.words,
        new.person,
        thought.id,
        thought.now,
    )


_AXES: Final = ("valence", "arousal", "dominance")


class MoodShift(Value):
    """A shift on each axis (-1 to 1), its feeling in words, and the new mood, if any.

    Half of an axis's value is gone after `half_life_minutes`. `unknown`: the thought named a mood that the soul lacks.
    `feeling` holds the mood's qualia and bodily values, or None.
    """

    valence: float
    arousal: float
    dominance: float
    felt_quality: str
    mood: str
    half_life_minutes: float
    unknown: bool = False
    feeling: OwnFeeling | None = None

    field: ClassVar[str] = "emotional_state"

    @property
    def size(self) -> int:
        return (self._moves or self.feeling is not None) + self.unknown

    @property
    def _moves(self) -> bool:
        return bool(self.mood or self.felt_quality or self.valence or self.arousal or self.dominance)

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        """Shift the faded values of the axes within -1 to 1, and store the feeling (see `ThoughtPart.take`)."""
        if self._moves:
            await self._store(transaction, thought)
        if self.feeling is not None:
            where, now = thought.conversation, thought.now
            felt = await keep_feeling(transaction, self.feeling, where, thought.audience, now)
            if felt is not None:
                await tie(transaction, felt, thought)
        return PartsTaken(self.size - self.unknown, ["unknown"] * self.unknown)

    async def _store(self, transaction: Transaction, thought: StoredThought) -> None:
        key = thought.conversation
        whose = {"soul": key.soul, "workspace": key.workspace, "audience": str(thought.audience)}
        before = await transaction.one(
            "SELECT * FROM soul_state WHERE soul = :soul AND workspace = :workspace AND audience = :audience", **whose
        )
        left = faded(before["moved_ms"], thought.now, self.half_life_minutes) if before else 0.0
        moved = {
            axis: max(-1.0, min(1.0, (before[axis] * left if before else 0.0) + getattr(self, axis))) for axis in _AXES
        }
        await transaction.run(
            """
            INSERT INTO soul_state (soul, workspace, audience, version, emotional_state, felt_ms, updated_ms,
                                    valence, arousal, dominance, moved_ms, felt_quality, felt_by)
            VALUES (:soul, :workspace, :audience, 1, :mood, CASE :mood WHEN '' THEN 0 ELSE :now END, :now,
                    :valence, :arousal, :dominance, :now, :felt_quality, :thought)
            ON CONFLICT (soul, workspace, audience) DO UPDATE SET version = soul_state.version + 1,
              emotional_state = CASE :mood WHEN '' THEN soul_state.emotional_state ELSE :mood END,
              felt_ms = CASE :mood WHEN '' THEN soul_state.felt_ms ELSE :now END, updated_ms = :now,
              valence = :valence, arousal = :arousal, dominance = :dominance, moved_ms = :now,
              felt_quality = :felt_quality, felt_by = :thought
            """,
            mood=self.mood,
            felt_quality=self.felt_quality,
            thought=thought.id,
            now=thought.now,
            **moved,
            **whose,
        )


def faded(since_ms: int, now_ms: int, half_life_minutes: float) -> float:
    """Return the remaining share of a feeling, from 1 down to 0. A clock that was set back does not raise it."""
    return float(0.5 ** (max(0, now_ms - since_ms) / 60_000 / half_life_minutes))
