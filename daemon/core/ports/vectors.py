"""Vectors: texts by their meaning, and the memories that are near."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors whose cosines tell how near their meanings are."""

    @property
    def id(self) -> str:
        """Names weights and recipe; only vectors of one id can be compared."""

    @property
    def unrelated(self) -> "Unrelated | None":
        """How alike texts seem that have nothing to do with each other; None where that is not known."""

    async def embed(self, texts: Sequence[str]) -> "Sequence[Vector]":
        """A vector of length one for each text, in order: float32, 384 numbers by the local embedder.

        All of one call have as many; those of the next may have others, where an endpoint's model was exchanged. The
        end of a text that is too long is left out. Works off the event loop, and loads what it needs at its first call.
        Raises ModelUnavailable (try again later) or ModelRefused (an admin has to act).
        """

    async def aclose(self) -> None:
        """Close connections and threads."""


class View(StrEnum):
    """What is embedded of a memory: its own words, or a turn with the one before it, both dated."""

    OWN = "own"
    BEFORE = "before"


class Unrelated(NamedTuple):
    """Mean and deviation of the cosines of a text with others that have nothing to do with it."""

    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Near:
    """Cosines with a query by the id of the memory; `mean` and `deviation` are those of all `rows` that were looked at.

    `kind` is `exact`, `chroma`, or `none` where vectors could not serve: then full text serves alone.
    """

    cosines: Mapping[str, float]
    mean: float = 0.0
    deviation: float = 0.0
    kind: str = "none"
    rows: float = 0.0


@dataclass(frozen=True, slots=True)
class NearQuery:
    """What is asked of the vectors: one view of memories, and the ids of those that are measured wherever they lie."""

    view: View
    vector: "Vector"
    also: Collection[str] = ()


class VectorIndex(Protocol):
    """The vectors of what may be remembered. Ids: TU_ and TL_ (turns), those of records, LB_ (passages of the library).

    A row lies in a partition for each code of who may find it (`memory/reader_codes.py`). What was stored a moment ago
    may not be embedded yet; what was deleted may still be found for a moment: who asks reads the row again by its id.
    """

    async def near(self, partitions: Collection[str], queries: Sequence[NearQuery], most: int) -> Sequence[Near]:
        """For each query the `most` nearest memories in some partitions, and those of its `also`. Never raises.

        With 0 for `most` nothing is scanned, and mean and deviation are not known.
        All queries of a moment in one call: each partition is walked through once for all of them.
        """
