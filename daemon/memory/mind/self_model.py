"""A soul's picture of itself for one audience, its own text and its values, with the changes of thoughts to them."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final, Literal

from msgspec.structs import replace

from daemon.core.perception import AudienceKind
from daemon.core.value import Value
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
    rows_of_soul,
)
from daemon.memory.thought_parts import PartsTaken, StoredThought

MOST_UNCERTAINTIES: Final = 5
UNCERTAINTIES: Final = "uncertainties"
STATE, GROWTH, ACCURACY = "current_state", "recent_growth", "prediction_accuracy_note"

_MODEL: Final = MindDocument.SELF_MODEL


class SelfModelPatch(Value):
    """The changes of one thought to the self model. Empty texts change nothing."""

    current_state: str = ""
    recent_growth: str = ""
    prediction_accuracy_note: str = ""
    new_uncertainty: str = ""
    resolved_uncertainty: str = ""
    field: ClassVar[str] = "self_model_updates"

    @property
    def size(self) -> int:
        return sum(map(bool, (*self._plain().values(), self.new_uncertainty, self.resolved_uncertainty)))

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        """Apply the changes (see `ThoughtPart.take`). A resolved uncertainty makes room for a new one."""
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
        """Remove an uncertainty. Return '' if removed, the reason if refused, and None if there is none to remove."""
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
    return " ".join(words_of(words)) or words.casefold()


_DOCUMENT: Final = MindDocument.IDENTITY
_TEXT: Final = "text"
IdentityAct = Literal["draft", "commit", "revise", "withdraw"]


class OwnText(Value):
    """The text in force and its draft, or ''. `thoughts` holds the ids of the thoughts that wrote them."""

    text: str = ""
    draft: str = ""
    thoughts: tuple[str, ...] = ()


class IdentityPatch(Value):
    """A thought's change to the soul's own text, and the reason.

    `commit` puts the draft in force. `revise` replaces the text in force. `withdraw` takes back the text in force, or
    the draft if there is none.
    """

    action: IdentityAct
    text: str
    why: str
    field: ClassVar[str] = "identity_update"
    size: ClassVar[int] = 1

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        """Apply the change (see `ThoughtPart.take`), if the whole workspace may know the thought."""
        if thought.audience.kind is not AudienceKind.WORKSPACE or not thought.readers.members_only:
            return PartsTaken(0, ["private"])
        held = own_text(await rows_of_soul(transaction, thought.conversation.soul, _DOCUMENT))
        if why := self._why_not(held):
            return PartsTaken(0, [why])
        words = self.text if self.action in {"draft", "revise"} else ""
        await add_part(transaction, thought, NewPart(_DOCUMENT, _TEXT, words, act=self.action, why=self.why))
        return PartsTaken(1)

    def _why_not(self, held: OwnText) -> str:
        if self.action in {"draft", "revise"} and not self.text:
            return "empty"
        needed = {"commit": held.draft, "revise": held.text, "withdraw": held.text or held.draft}
        return "" if needed.get(self.action, self.text) else "unknown"


NO_TEXT: Final = OwnText()


def own_text(rows: Iterable[HeldPart]) -> OwnText:
    """Return the text and the draft that these rows make, given oldest first."""
    text, draft = list[HeldPart](), list[HeldPart]()
    for row in rows:
        match row.act:
            case "draft":
                draft = [row]
            case "commit" if draft:
                text, draft = [*draft, row], []
            case "revise":
                text = [row]
            case "withdraw" if text:
                text = []
            case "withdraw":
                draft = []
    return OwnText(
        "".join(one.words for one in text),
        "".join(one.words for one in draft),
        tuple(one.thought for one in (*text, *draft)),
    )


MOST_ACTIVE: Final = 20
"""The most active values of a soul, including those of its soul.toml."""

_VALUES_DOCUMENT: Final = MindDocument.VALUES
ValueAct = Literal["adopt", "reinterpret", "deactivate"]


class SoulValue(Value):
    """A value: its name, its meaning to the soul, and the thought that changed it (empty: from soul.toml)."""

    name: str
    meaning: str = ""
    active: bool = True
    thought: str = ""


class ValueChange(Value):
    """A thought's change to one value, and the reason."""

    action: ValueAct
    value: str
    meaning: str
    why: str


class ValuesPatch(Value):
    """A thought's changes to the soul's values. `seeds` are the values of its soul.toml."""

    changes: tuple[ValueChange, ...]
    seeds: tuple[str, ...] = ()
    field: ClassVar[str] = "value_updates"

    @property
    def size(self) -> int:
        return len(self.changes)

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        """Apply the changes (see `ThoughtPart.take`), if the whole workspace may know the thought."""
        if thought.audience.kind is not AudienceKind.WORKSPACE or not thought.readers.members_only:
            return PartsTaken(0, ["private"] * self.size)
        done, refused = 0, list[str]()
        for one in self.changes:
            held = values_in_force(
                self.seeds, await rows_of_soul(transaction, thought.conversation.soul, _VALUES_DOCUMENT)
            )
            known = next((value for value in held if value.name.casefold() == one.value.casefold()), None)
            if why := _why_not(one, known, held):
                refused.append(why)
                continue
            name = known.name if known is not None else one.value
            await add_part(
                transaction, thought, NewPart(_VALUES_DOCUMENT, name, one.meaning, act=one.action, why=one.why)
            )
            done += 1
        return PartsTaken(done, refused)


def values_in_force(seeds: Iterable[str], rows: Iterable[HeldPart]) -> tuple[SoulValue, ...]:
    """Return all present and former values of a soul: those of soul.toml first, then by time of adoption."""
    values = {name.casefold(): SoulValue(name) for name in seeds}
    for row in rows:
        key = row.part.casefold()
        before = values.get(key)
        if before is None and row.act != "adopt":
            continue  # the value that it changed is gone
        begun = before or SoulValue(row.part)
        values[key] = replace(
            begun, meaning=row.words or begun.meaning, active=row.act != "deactivate", thought=row.thought
        )
    return tuple(values.values())


def _why_not(change: ValueChange, known: SoulValue | None, held: Sequence[SoulValue]) -> str:
    if change.action == "adopt":
        if known is not None and known.active:
            return "duplicate"
        return "too_many" if sum(one.active for one in held) >= MOST_ACTIVE else ""
    if known is None or not known.active:
        return "unknown"
    return "empty" if change.action == "reinterpret" and not change.meaning else ""
