"""The vector index as a cycle uses it: small shelves are scanned exactly, large ones by Chroma if it is open."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from daemon.core.ports.services import Emit
from daemon.core.ports.vectors import Near, NearQuery, View
from daemon.core.value import Value
from daemon.memory.retrieval.chroma import Chroma, ChromaFailed
from daemon.memory.retrieval.shelves import BUDGET, Search, Shelves, unpacked
from daemon.memory.retrieval.vector_file import Shelf, VectorFile, VectorsDamaged

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


HINT: Final = (
    "if SOUL_EMBEDDER_MODEL is the one you mean, `soul memory rebuild` makes all vectors anew; no restart is needed"
)
"""The hint for vectors of another length."""


def other_length(given: int, stored: int) -> str:
    """Return the message for vectors of another length than the stored ones."""
    return f"the embedder's vectors have {given} numbers, those that are stored {stored}"


FILE: Final = "vectors.db"
_SAMPLE: Final = 512  # approximate size of the sample that gives mean and deviation of a shelf in Chroma
_GROWN: Final = 0.1  # growth, as a share of the shelf, after which its sample is drawn again


class Vectors:
    """The vector index of this process, which implements `core.ports.vectors.VectorIndex`. One thread does the work.

    `folder` is `SOUL_HOME/index`, `embedder` the id of the model that embeds queries.
    """

    def __init__(self, folder: Path, embedder: str, emit: Emit, *, budget: int = BUDGET) -> None:
        self._path = folder / FILE
        self._embedder = embedder
        self._emit = emit
        self._budget = budget
        self._thread = ThreadPoolExecutor(1, "vectors")
        self._file: VectorFile | None = None
        self._inode = 0
        self._shelves: Shelves | None = None
        self._chroma: Chroma | None = None
        self._served: Mapping[Shelf, int] = {}
        self._samples: dict[Shelf, _Sample] = {}
        self.failure: ChromaFailed | None = None
        """The failure of Chroma in a query, until `serve` is called again."""

    async def near(self, partitions: Collection[str], queries: Sequence[NearQuery], most: int) -> Sequence[Near]:
        work = partial(self._near, tuple(dict.fromkeys(partitions)), queries, most)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except VectorsDamaged as error:
            self._emit("vectors.unread", reason=error.message)
        except Exception as error:  # noqa: BLE001  # no cycle fails for memory's sake
            self._emit("vectors.unread", reason=type(error).__name__, error=error)
        return _nothing(queries)

    def serve(self, chroma: Chroma | None, served: Mapping[Shelf, int]) -> None:
        """Query Chroma for these shelves from now on, each up to a number. Vectors above it are scanned."""
        self._chroma, self._served, self.failure = chroma, dict(served), None
        self._samples = {shelf: sample for shelf, sample in self._samples.items() if shelf in served}

    async def aclose(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    def _near(self, partitions: Sequence[str], queries: Sequence[NearQuery], most: int) -> list[Near]:
        if not self._path.exists():
            return _nothing(queries)  # a daemon that has just started, or a folder that was just deleted
        try:
            file, exact = self._opened()
            if file.fact("embedder") != self._embedder:
                return _nothing(queries)  # its vectors can't be compared with the query's
            exact.look()
            searches = [Search(one.vector, most, frozenset(one.also)) for one in queries]
            length, both = file.length(), zip(searches, queries, strict=True)
            asked = [(search, one) for search, one in both if self._is_comparable(length, one)]
            for view in dict.fromkeys(one.view for _, one in asked):
                of_view = [search for search, one in asked if one.view is view]
                for shelf in (Shelf(partition, view) for partition in partitions):
                    if most:
                        self._ask_shelf(file, exact, shelf, of_view)
                    else:
                        exact.pick(shelf, of_view)
                _add_missing(file, view, of_view)
        except BaseException:
            self._close()
            raise
        return [_found(search) for search in searches]

    def _is_comparable(self, stored: int, query: NearQuery) -> bool:
        if stored in {0, len(query.vector)}:
            return True
        self._emit("vectors.unread", reason=other_length(len(query.vector), stored), hint=HINT)
        return False

    def _ask_shelf(self, file: VectorFile, exact: Shelves, shelf: Shelf, searches: Sequence[Search]) -> None:
        if self._by_chroma(file, exact, shelf, searches):
            kind = "chroma"
        elif exact.scan(shelf, searches):
            kind = "exact"
        else:
            return
        for search in searches:
            search.kinds.add(kind)

    def _by_chroma(self, file: VectorFile, exact: Shelves, shelf: Shelf, searches: Sequence[Search]) -> bool:
        chroma, upto = self._chroma, self._served.get(shelf)
        if chroma is None or upto is None or self.failure is not None:
            return False
        try:
            found = chroma.query(shelf, [search.vector for search in searches], searches[0].most)
        except ChromaFailed as error:
            self.failure = error
            return False
        size, sample = self._sample(file, shelf)
        # Vectors deleted from the file are ignored, though Chroma may still have them.
        there = {row.number: row.id for row in file.by_number(sorted({number for one in found for number in one}))}
        for search, numbers in zip(searches, found, strict=True):
            for number, cosine in numbers.items():
                if number in there:
                    search.keep(there[number], cosine)
            search.add(sample @ search.vector, weight=size / max(1, len(sample)))
        return exact.scan(shelf, searches, above=upto)

    def _sample(self, file: VectorFile, shelf: Shelf) -> "tuple[int, NDArray[np.float32]]":
        last, known = file.last(shelf), self._samples.get(shelf)
        if known is None or not known.last <= last <= known.last + known.size * _GROWN:
            size, _ = file.extent(shelf)
            known = _Sample(size, last, unpacked(file.sample(shelf, max(1, size // _SAMPLE))))
            self._samples[shelf] = known
        return known.size, known.vectors

    def _opened(self) -> tuple[VectorFile, Shelves]:
        """Return the open file, reopened if it was replaced. Raises VectorsDamaged."""
        try:
            inode = self._path.stat().st_ino
        except OSError:
            inode = 0
        if self._file is None or self._shelves is None or inode != self._inode:
            self._close()
            self._file = VectorFile(self._path, read_only=True)
            self._inode = inode
            self._shelves = Shelves(self._file, self._budget)
        return self._file, self._shelves

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = self._shelves = None


class _Sample(Value):
    """A sample of a shelf's vectors, drawn when the highest number there was `last`."""

    size: int
    last: int
    vectors: "NDArray[np.float32]"


def _nothing(queries: Sequence[NearQuery]) -> list[Near]:
    return [Near({}) for _ in queries]


def _found(search: Search) -> Near:
    kind = "chroma" if "chroma" in search.kinds else "exact" if search.kinds else "none"
    mean = search.total / search.rows if search.rows else 0.0
    variance = max(0.0, search.squares / search.rows - mean * mean) if search.rows else 0.0
    return Near(search.nearest(), mean, variance**0.5, kind, search.rows)


def _add_missing(file: VectorFile, view: View, searches: Sequence[Search]) -> None:
    wanted = {one for search in searches for one in search.also if one not in search.cosines}
    rows = file.of_view(sorted(wanted), view) if wanted else []
    if not rows:
        return
    vectors = unpacked(rows)
    for search in searches:
        for row, cosine in zip(rows, vectors @ search.vector, strict=True):
            if row.id in search.also:
                search.keep(row.id, float(cosine))
