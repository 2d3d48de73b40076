"""Working memory: the soul's current context, as an immutable list of memories in named regions."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from string import ascii_letters, whitespace
from types import MappingProxyType
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

DEFAULT_REGION = "default"
"""The name for the memories without a region. No memory may have it as its region."""

_OF_PROSE: Final = f"{ascii_letters}{whitespace}.,:;!?'\"-_<>#/".encode()


class Role(StrEnum):
    """The speaker of a memory: the daemon, a user, or the soul."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Memory:
    """An element of working memory. `name` is the speaker; `metadata` is never shown to a model as such.

    Raises ValueError for the region `default` or an empty one, which mean "no region".
    """

    role: Role
    content: str
    region: str | None = None
    name: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.region in ("", DEFAULT_REGION):
            raise ValueError(f"a memory without a region has region=None, not {self.region!r}")
        object.__setattr__(self, "metadata", MappingProxyType(dict(self.metadata)))


def thought(text: str, verb: str = "thought", *, name: str | None = None) -> Memory:
    """Make a private thought of the soul, rendered as `NAME VERB: TEXT` and never said."""
    return Memory(Role.ASSISTANT, text, name=name, metadata={"kind": "thought", "verb": verb})


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """An immutable list of memories. Every operation returns a new value (seed 000; Open Souls' WorkingMemory).

    `regional_order` names regions in order; `default` means the memories without one. Every value derived from this one
    keeps the order, and each write to a region applies it.
    """

    soul_name: str
    memories: tuple[Memory, ...] = ()
    regional_order: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "memories", tuple(self.memories))  # the owner of a list could still change it
        object.__setattr__(self, "regional_order", tuple(self.regional_order))

    def __len__(self) -> int:
        return len(self.memories)

    def __iter__(self) -> Iterator[Memory]:
        return iter(self.memories)

    # -- as a list --------------------------------------------------------------------------------------------------

    def at(self, index: int) -> Memory:
        return self.memories[index]

    def replace(self, memories: Iterable[Memory]) -> "WorkingMemory":
        return dataclasses.replace(self, memories=tuple(memories))

    def slice(self, start: int | None = None, stop: int | None = None) -> "WorkingMemory":
        return self.replace(self.memories[start:stop])

    def filter(self, keep: Callable[[Memory], bool]) -> "WorkingMemory":
        return self.replace(memory for memory in self.memories if keep(memory))

    def map(self, change: Callable[[Memory], Memory]) -> "WorkingMemory":
        return self.replace(change(memory) for memory in self.memories)

    def concat(self, others: Iterable[Memory]) -> "WorkingMemory":
        return self.replace((*self.memories, *others))

    def with_memory(self, memory: Memory) -> "WorkingMemory":
        """Add a memory at the end of its region if it has one, else at the end."""
        if memory.region is None:
            return self.concat((memory,))
        return self.with_region(memory.region, *self.region(memory.region), memory)

    # -- in regions -------------------------------------------------------------------------------------------------

    def region(self, name: str) -> tuple[Memory, ...]:
        return tuple(memory for memory in self.memories if _region_of(memory) == name)

    def with_region(self, name: str, *memories: Memory) -> "WorkingMemory":
        """Replace the memories of a region, then apply the regional order.

        A new region goes behind the existing ones: regions without a place in the order remain in their order of
        arrival. Without memories the region is removed. Raises ValueError for `default`.
        """
        if name in ("", DEFAULT_REGION):
            raise ValueError(f"{name!r} is not a region that can be written")
        filled = tuple(dataclasses.replace(memory, region=name) for memory in memories)
        rest = tuple(memory for memory in self.memories if memory.region != name)
        place = self._place_of(name)
        return self.replace((*rest[:place], *filled, *rest[place:])).order_regions()

    def with_regional_order(self, *names: str) -> "WorkingMemory":
        """Store the order of regions. Nothing moves before a region is written or `order_regions` is called."""
        return dataclasses.replace(self, regional_order=names)

    def order_regions(self, *names: str) -> "WorkingMemory":
        """Sort by these names, or by the stored order. Other regions go last, in their present order."""
        rank = {name: place for place, name in enumerate(names or self.regional_order)}
        return self.replace(sorted(self.memories, key=lambda memory: rank.get(_region_of(memory), len(rank))))

    def without_regions(self, *names: str) -> "WorkingMemory":
        return self.filter(lambda memory: _region_of(memory) not in names)

    def _place_of(self, name: str) -> int:
        regions = [memory.region for memory in self.memories]
        if name in regions:
            return regions.index(name)
        return max((place for place, region in enumerate(regions, 1) if region is not None), default=0)

    # -- to and from the store --------------------------------------------------------------------------------------

    def to_json(self) -> str:
        memories = tuple(
            _MemoryRow(role=m.role, content=m.content, region=m.region, name=m.name, metadata=dict(m.metadata))
            for m in self.memories
        )
        snapshot = _Snapshot(soul_name=self.soul_name, memories=memories, regional_order=self.regional_order)
        return snapshot.model_dump_json()

    @classmethod
    def from_json(cls, text: str) -> "WorkingMemory":
        """Read the output of `to_json`. Raises ValueError."""
        try:
            snapshot = _Snapshot.model_validate_json(text)
        except ValidationError as error:
            raise ValueError(f"not a working memory: {error.error_count()} faults in its JSON") from error
        memories = tuple(Memory(row.role, row.content, row.region, row.name, row.metadata) for row in snapshot.memories)
        return cls(snapshot.soul_name, memories, snapshot.regional_order)


class _MemoryRow(BaseModel):
    model_config = ConfigDict(extra="forbid")

    role: Role
    content: str
    region: str | None = None
    name: str | None = None
    metadata: dict[str, str] = {}


class _Snapshot(BaseModel):
    model_config = ConfigDict(extra="forbid")

    soul_name: str
    memories: tuple[_MemoryRow, ...]
    regional_order: tuple[str, ...]


def _region_of(memory: Memory) -> str:
    return memory.region or DEFAULT_REGION


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text for any model, rather too high than too low.

    A quarter token per ASCII character of prose, a half per digit and sign of code, three quarters for a letter of two
    bytes in UTF-8, one and a quarter for three (Chinese, Japanese, Korean), three for four (emoji). Computed from the
    lengths of encodings, for speed.
    """
    ascii_ = text.encode("ascii", "ignore")
    length, one_byte = len(text), len(ascii_)
    signs = len(ascii_.translate(None, _OF_PROSE))
    if one_byte == length:
        return math.ceil((length + signs) / 4)
    four_byte = len(text.encode("utf-16-le", "surrogatepass")) // 2 - length
    three_byte = len(text.encode("utf-8", "surrogatepass")) - 2 * (length - four_byte) + one_byte - 4 * four_byte
    two_byte = length - one_byte - three_byte - four_byte
    return math.ceil((one_byte + signs + 3 * two_byte + 5 * three_byte + 12 * four_byte) / 4)
