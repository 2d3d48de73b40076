"""How a thought moves the soul: its mood before one audience, and how that feels on three axes, which fade."""

from dataclasses import dataclass
from typing import ClassVar, Final

from daemon.memory.database import Transaction
from daemon.memory.knowledge.qualia import OwnFeeling, keep_feeling
from daemon.memory.queues.remembering import tie
from daemon.memory.thought_parts import PartsTaken, StoredThought

_AXES: Final = ("valence", "arousal", "dominance")


@dataclass(frozen=True, slots=True)
class MoodShift:
    """The shift on each axis (-1 to 1), how it feels in words, and the mood, empty where it stays as it is.

    Half of what was on an axis is gone after `half_life_minutes`. `unknown`: a mood was named that the soul has not.
    `feeling` is how the mood feels and what it is in the body, None where the thought did not say.
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
        """See `ThoughtPart`."""
        return (self._moves or self.feeling is not None) + self.unknown

    @property
    def _moves(self) -> bool:
        return bool(self.mood or self.felt_quality or self.valence or self.arousal or self.dominance)

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        """See `ThoughtPart.take`; what is on the axes by now is moved, and nothing leaves them."""
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
    """How much is left of a feeling, from 1 down to 0; a clock that was set back makes it no stronger."""
    return float(0.5 ** (max(0, now_ms - since_ms) / 60_000 / half_life_minutes))
