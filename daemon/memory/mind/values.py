"""The values of a soul: those of its soul.toml, and what it adopted, reinterpreted or deactivated, each with a reason.

None is ever deleted but with the words from which it came.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal

from daemon.core.perception import AudienceKind
from daemon.memory.database import Transaction
from daemon.memory.mind.documents import HeldPart, MindDocument, NewPart, add_part, rows_of_soul
from daemon.memory.thought_parts import PartsTaken, StoredThought

MOST_ACTIVE: Final = 20
"""The most values that a soul holds at once, with those of its soul.toml."""

_DOCUMENT: Final = MindDocument.VALUES
ValueAct = Literal["adopt", "reinterpret", "deactivate"]


@dataclass(frozen=True, slots=True)
class SoulValue:
    """A value: its name, what it means to the soul, whether it is held, and by which thought; empty: by soul.toml."""

    name: str
    meaning: str = ""
    active: bool = True
    thought: str = ""


@dataclass(frozen=True, slots=True)
class ValueChange:
    """What a thought does to one value, and why."""

    action: ValueAct
    value: str
    meaning: str
    why: str


@dataclass(frozen=True, slots=True)
class ValuesPatch:
    """What one thought does to the values of its soul, of which `seeds` stand in its soul.toml."""

    changes: tuple[ValueChange, ...]
    seeds: tuple[str, ...] = ()
    field: ClassVar[str] = "value_updates"

    @property
    def size(self) -> int:
        """How many values it changes."""
        return len(self.changes)

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        """See `ThoughtPart.take`. They are the soul's everywhere: only what the whole workspace may know goes in."""
        if thought.audience.kind is not AudienceKind.WORKSPACE or not thought.readers.members_only:
            return PartsTaken(0, ["private"] * self.size)
        done, refused = 0, list[str]()
        for one in self.changes:
            held = values_in_force(self.seeds, await rows_of_soul(transaction, thought.conversation.soul, _DOCUMENT))
            known = next((value for value in held if value.name.casefold() == one.value.casefold()), None)
            if why := _why_not(one, known, held):
                refused.append(why)
                continue
            name = known.name if known is not None else one.value
            await add_part(transaction, thought, NewPart(_DOCUMENT, name, one.meaning, act=one.action, why=one.why))
            done += 1
        return PartsTaken(done, refused)


def values_in_force(seeds: Iterable[str], rows: Iterable[HeldPart]) -> tuple[SoulValue, ...]:
    """All values that a soul has or had: those of its soul.toml first, then by when each was adopted."""
    values = {name.casefold(): SoulValue(name) for name in seeds}
    for row in rows:
        key = row.part.casefold()
        before = values.get(key)
        if before is None and row.act != "adopt":
            continue  # what it was about is gone
        begun = before or SoulValue(row.part)
        values[key] = replace(
            begun, meaning=row.words or begun.meaning, active=row.act != "deactivate", thought=row.thought
        )
    return tuple(values.values())


def _why_not(change: ValueChange, known: SoulValue | None, held: Sequence[SoulValue]) -> str:
    """Why a change is refused; empty where it takes effect."""
    if change.action == "adopt":
        if known is not None and known.active:
            return "duplicate"
        return "too_many" if sum(one.active for one in held) >= MOST_ACTIVE else ""
    if known is None or not known.active:
        return "unknown"
    return "empty" if change.action == "reinterpret" and not change.meaning else ""
