"""What a soul holds of itself before one audience: how it is, what it learned and is unsure of, in its own words."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final

from daemon.core.words import words_of
from daemon.memory.database import Transaction
from daemon.memory.mind.documents import (
    DROP,
    HeldPart,
    MindDocument,
    NewPart,
    add_part,
    make_room,
    parts_in_force,
)
from daemon.memory.thought_parts import PartsTaken, StoredThought

MOST_UNCERTAINTIES: Final = 5
UNCERTAINTIES: Final = "uncertainties"
STATE, GROWTH, ACCURACY = "current_state", "recent_growth", "prediction_accuracy_note"
"""Parts of a self model."""

_MODEL: Final = MindDocument.SELF_MODEL


@dataclass(frozen=True, slots=True)
class SelfModelPatch:
    """What one thought says of its soul; an empty text changes nothing."""

    current_state: str = ""
    recent_growth: str = ""
    prediction_accuracy_note: str = ""
    new_uncertainty: str = ""
    resolved_uncertainty: str = ""
    field: ClassVar[str] = "self_model_updates"

    @property
    def size(self) -> int:
        """How many of these it says."""
        return sum(map(bool, (*self._plain().values(), self.new_uncertainty, self.resolved_uncertainty)))

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        """See `ThoughtPart.take`. What is resolved makes room for what is new."""
        done, refused = 0, list[str]()
        for part, words in self._plain().items():
            if words:
                await add_part(transaction, thought, NewPart(_MODEL, part, words))
                done += 1
        for why in (await self._resolve(transaction, thought), await self._doubt(transaction, thought)):
            done += why == ""
            refused += [why] if why else []
        return PartsTaken(done, refused)

    def _plain(self) -> dict[str, str]:
        return {
            STATE: self.current_state,
            GROWTH: self.recent_growth,
            ACCURACY: self.prediction_accuracy_note,
        }

    async def _resolve(self, transaction: Transaction, thought: StoredThought) -> str | None:
        """Why an uncertainty can't be taken out: "" where it was, None where there was none to take out."""
        if not self.resolved_uncertainty:
            return None
        known_by = _known_by(self.resolved_uncertainty)
        if known_by not in _doubts(await parts_in_force(transaction, thought, _MODEL)):
            return "unknown"
        await add_part(transaction, thought, NewPart(_MODEL, UNCERTAINTIES, attribute=known_by, act=DROP))
        return ""

    async def _doubt(self, transaction: Transaction, thought: StoredThought) -> str | None:
        if not self.new_uncertainty:
            return None
        known_by = _known_by(self.new_uncertainty)
        held = [one for one in await parts_in_force(transaction, thought, _MODEL) if one.part == UNCERTAINTIES]
        if known_by in _doubts(held):
            return "duplicate"
        full = len(held) >= MOST_UNCERTAINTIES
        if full and await make_room(transaction, thought, [(one,) for one in held]) is None:
            return "too_many"
        await add_part(transaction, thought, NewPart(_MODEL, UNCERTAINTIES, self.new_uncertainty, attribute=known_by))
        return ""


def _doubts(held: Iterable[HeldPart]) -> set[str]:
    return {one.attribute for one in held if one.part == UNCERTAINTIES}


def _known_by(words: str) -> str:
    """An uncertainty in one form for comparison, whatever its case and marks."""
    return " ".join(words_of(words)) or words.casefold()
