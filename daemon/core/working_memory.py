"""Working memory: what the soul has in mind just now, as an immutable list of memories in named regions."""

import math
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict, ValidationError

DEFAULT_REGION = "default"
"""Names the memories without a region wherever a region is asked for; no memory may bear it."""


class Role(StrEnum):
    """Whose words a memory holds: the house's own, somebody's, or the soul's."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Memory:
    """One element of working memory; `name` is whoever said it, `metadata` travels along and is never shown as such.

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


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """An immutable list of memories; every operation returns a new value (seed 000; Open Souls' WorkingMemory).

    `regional_order` names regions in the order they shall stand; `default` stands for the memories without one. The
    order stays with every value derived from this one and is applied whenever a region is written.
    """

    soul_name: str
    memories: tuple[Memory, ...] = ()
    regional_order: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "memories", tuple(self.memories))  # a list could still be changed by its owner
        object.__setattr__(self, "regional_order", tuple(self.regional_order))

    def __len__(self) -> int:
        return len(self.memories)

    def __iter__(self) -> Iterator[Memory]:
        return iter(self.memories)

    # -- as a list --------------------------------------------------------------------------------------------------

    def at(self, index: int) -> Memory:
        """The memory at a place, counted from the end when negative. Raises IndexError."""
        return self.memories[index]

    def find(self, fits: Callable[[Memory], bool]) -> Memory | None:
        """The first memory that fits, or None."""
        return next((memory for memory in self.memories if fits(memory)), None)

    def some(self, fits: Callable[[Memory], bool]) -> bool:
        """Whether any memory fits."""
        return any(fits(memory) for memory in self.memories)

    def replace(self, memories: Iterable[Memory]) -> "WorkingMemory":
        """Swap the whole list."""
        return replace(self, memories=tuple(memories))

    def slice(self, start: int | None = None, stop: int | None = None) -> "WorkingMemory":
        """The memories from `start` up to `stop`, as a list slice."""
        return self.replace(self.memories[start:stop])

    def splice(self, start: int, delete_count: int, *memories: Memory) -> "WorkingMemory":
        """Take `delete_count` memories out at `start` (from the end when negative) and put others in their place."""
        begin = max(0, len(self) + start) if start < 0 else min(start, len(self))
        end = begin + max(0, delete_count)
        return self.replace((*self.memories[:begin], *memories, *self.memories[end:]))

    def filter(self, keep: Callable[[Memory], bool]) -> "WorkingMemory":
        """The memories to keep, in order."""
        return self.replace(memory for memory in self.memories if keep(memory))

    def map(self, change: Callable[[Memory], Memory]) -> "WorkingMemory":
        """Every memory changed."""
        return self.replace(change(memory) for memory in self.memories)

    async def amap(self, change: Callable[[Memory], Awaitable[Memory]]) -> "WorkingMemory":
        """Every memory changed by something that takes time, one after another."""
        return self.replace([await change(memory) for memory in self.memories])

    def concat(self, others: Iterable[Memory]) -> "WorkingMemory":
        """Others put at the end; another working memory is a list of memories too."""
        return self.replace((*self.memories, *others))

    def prepend(self, others: Iterable[Memory]) -> "WorkingMemory":
        """Others put at the beginning."""
        return self.replace((*others, *self.memories))

    def with_memory(self, memory: Memory) -> "WorkingMemory":
        """One more memory: at the end of its region if it has one, else at the end."""
        if memory.region is None:
            return self.concat((memory,))
        return self.with_region(memory.region, *self.region(memory.region), memory)

    def with_monologue(self, text: str) -> "WorkingMemory":
        """A thought of the soul's own at the end."""
        return self.with_memory(
            Memory(Role.ASSISTANT, text, name=self.soul_name, metadata={"kind": "thought", "verb": "thought"})
        )

    # -- in regions -------------------------------------------------------------------------------------------------

    def region(self, name: str) -> tuple[Memory, ...]:
        """The memories of a region, in order; `default` for those without one."""
        return tuple(memory for memory in self.memories if _region_of(memory) == name)

    def with_region(self, name: str, *memories: Memory) -> "WorkingMemory":
        """Put memories in place of all that the region held, then apply the regional order.

        A new region goes behind the existing ones and before the first memory without a region. No memories: the region
        is gone. Raises ValueError for `default`.
        """
        if name in ("", DEFAULT_REGION):
            raise ValueError(f"{name!r} is not a region that can be written")
        filled = tuple(replace(memory, region=name) for memory in memories)
        rest = tuple(memory for memory in self.memories if memory.region != name)
        place = self._place_of(name)
        return self.replace((*rest[:place], *filled, *rest[place:])).order_regions()

    def with_regional_order(self, *names: str) -> "WorkingMemory":
        """Remember in which order regions shall stand; nothing moves before a region is written or `order_regions`."""
        return replace(self, regional_order=names)

    def order_regions(self, *names: str) -> "WorkingMemory":
        """Sort by these names, or by the remembered order; regions not named go last, as they stand."""
        rank = {name: place for place, name in enumerate(names or self.regional_order)}
        return self.replace(sorted(self.memories, key=lambda memory: rank.get(_region_of(memory), len(rank))))

    def without_regions(self, *names: str) -> "WorkingMemory":
        """All but these regions."""
        return self.filter(lambda memory: _region_of(memory) not in names)

    def only_regions(self, *names: str) -> "WorkingMemory":
        """These regions alone."""
        return self.filter(lambda memory: _region_of(memory) in names)

    def _place_of(self, name: str) -> int:
        """Where a region begins, counted among the memories outside it."""
        regions = [memory.region for memory in self.memories]
        if name in regions:
            return regions.index(name)
        return next((place for place, region in enumerate(regions) if region is None), len(regions))

    # -- to and from the store --------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """All of it as JSON text."""
        memories = tuple(
            _MemoryRow(role=m.role, content=m.content, region=m.region, name=m.name, metadata=dict(m.metadata))
            for m in self.memories
        )
        snapshot = _Snapshot(soul_name=self.soul_name, memories=memories, regional_order=self.regional_order)
        return snapshot.model_dump_json()

    @classmethod
    def from_json(cls, text: str) -> "WorkingMemory":
        """Read what `to_json` wrote. Raises ValueError for anything else."""
        try:
            snapshot = _Snapshot.model_validate_json(text)
        except ValidationError as error:
            raise ValueError(f"not a working memory: {error.error_count()} faults in its JSON") from error
        memories = tuple(Memory(row.role, row.content, row.region, row.name, row.metadata) for row in snapshot.memories)
        return cls(snapshot.soul_name, memories, snapshot.regional_order)


@dataclass(frozen=True, slots=True)
class Pending:
    """A working memory still in the making, because a thought goes on: await it, as often as you like, to have it.

    `then` derives from it without waiting, so that nothing said meanwhile is lost and nothing is there twice. Awaiting
    raises what the making of it raises.
    """

    source: Callable[[], Awaitable[WorkingMemory]]

    def __await__(self) -> Generator[object, None, WorkingMemory]:
        return self.source().__await__()

    def then(self, change: Callable[[WorkingMemory], WorkingMemory]) -> "Pending":
        """The memory after a pure change, made when it is asked for."""

        async def changed() -> WorkingMemory:
            return change(await self)

        return Pending(changed)


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
    """About how many tokens a model will count: an estimate that rather errs upwards, never a provider's own count.

    A quarter token per ASCII character, three quarters for a letter of two bytes in UTF-8, one and a half for three
    (Chinese, Japanese, Korean), three for four (emoji). Counted by the lengths of encodings, for speed.
    """
    if text.isascii():
        return math.ceil(len(text) / 4)
    length, one_byte = len(text), len(text.encode("ascii", "ignore"))
    four_byte = len(text.encode("utf-16-le", "surrogatepass")) // 2 - length
    three_byte = len(text.encode("utf-8", "surrogatepass")) - 2 * (length - four_byte) + one_byte - 4 * four_byte
    two_byte = length - one_byte - three_byte - four_byte
    return math.ceil((one_byte + 3 * two_byte + 6 * three_byte + 12 * four_byte) / 4)
