"""The ports of embeddings and of the vector index."""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from daemon.core.value import Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]


class Embedder(Protocol):
    """The model that turns texts into vectors whose cosines measure how close their meanings are."""

    @property
    def id(self) -> str:
        """Return the id of weights and recipe. Only vectors of one id can be compared."""

    @property
    def unrelated(self) -> "Unrelated | None":
        """Return the similarity of unrelated texts. None if unknown."""

    async def embed(self, texts: Sequence[str]) -> "Sequence[Vector]":
        """Return a vector of length one for each text, in order: float32, 384 numbers by the local embedder.

        All vectors of one call have the same size; those of the next may differ, if an endpoint's model was exchanged.
        The end of a text that is too long is left out. Works off the event loop, and loads what it needs at its first
        call. Raises ModelUnavailable (try again later) or ModelRefused (an admin has to act).
        """

    async def aclose(self) -> None: ...


class View(StrEnum):
    """The text of a memory that is embedded: its own words, or a turn with the one before it, both dated."""

    OWN = "own"
    BEFORE = "before"


class Unrelated(NamedTuple):
    """The mean and deviation of the cosines of a text with unrelated texts."""

    mean: float
    deviation: float


class Near(Value):
    """The cosines with a query by memory id. `mean` and `deviation` are those of all `rows` that were compared.

    `kind` is `exact`, `chroma`, or `none` if vectors could not be used: then full text is used alone.
    """

    cosines: Mapping[str, float]
    mean: float = 0.0
    deviation: float = 0.0
    kind: str = "none"
    rows: float = 0.0


class NearQuery(Value):
    """A query for vectors: one view of memories, and the ids of those that are always measured."""

    view: View
    vector: "Vector"
    also: Collection[str] = ()


class VectorIndex(Protocol):
    """The vectors of what may be remembered. Ids: TU_ and TL_ (turns), those of records, LB_ (passages of the library).

    A row lies in a partition for each code of who may find it (`memory/reader_codes.py`). A new memory may not be
    embedded yet, and a deleted one may still be found for a moment: callers read the row again by its id.
    """

    async def near(self, partitions: Collection[str], queries: Sequence[NearQuery], most: int) -> Sequence[Near]:
        """Return, for each query, the `most` nearest memories of some partitions, and its `also`. Never raises.

        With `most` 0 nothing is scanned, and mean and deviation are unknown. Pass all queries of a moment in one call:
        each partition is scanned once for all of them.
        """
