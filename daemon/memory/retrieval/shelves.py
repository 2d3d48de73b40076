"""Scans all vectors of a shelf: one matrix of bytes per shelf, loaded on demand, evicted least recently used first."""

import time
from bisect import bisect
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import nlargest
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from daemon.memory.retrieval.vector_file import REMOVED, Shelf, StoredVector, VectorFile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from daemon.core.ports.vectors import Vector

BUDGET: Final = 96 * 2**20
"""The most bytes of all matrices together: two views of 120,000 memories."""

_PIECE: Final = 256  # rows that are read at once
_MEASURED: Final = 256  # rows that are measured at once: as floats they fit the processor's cache
_STEPS: Final = 127  # of a number's scale
_GROWN: Final = 0.1  # growth, as a share of its size, after which a shelf that is too large is counted again


@dataclass(slots=True)
class Search:
    """A query with its results: cosines by id, and the moments of all cosines (number, sum, squares).

    `most` is the number of nearest ones wanted of all shelves together. `also` are ids wanted at any distance.
    """

    vector: "Vector"
    most: int
    also: Collection[str] = ()
    cosines: dict[str, float] = field(default_factory=dict)
    kinds: set[str] = field(default_factory=set)
    rows: float = 0.0
    total: float = 0.0
    squares: float = 0.0
    _measured: "list[tuple[Sequence[str], NDArray[np.float32]]]" = field(default_factory=list)
    _missing: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self._missing = set(self.also)

    def add(self, cosines: "NDArray[np.float32]", weight: float = 1.0) -> None:
        """Add cosines to the moments, each with a weight."""
        self.rows += weight * len(cosines)
        self.total += weight * float(cosines.sum())
        self.squares += weight * float(cosines @ cosines)

    def keep(self, one: str, cosine: float) -> None:
        """Keep a cosine by id. A row may be on two shelves."""
        self.cosines[one] = max(cosine, self.cosines.get(one, -1.0))

    def keep_wanted(self, places: Mapping[str, int], measure: "Callable[[list[int]], NDArray[np.float32]]") -> None:
        """Keep the cosines of ids in `also` that are on a shelf."""
        if found := list(places.keys() & self._missing):
            self.cosines |= zip(found, measure([places[one] for one in found]).tolist(), strict=True)
            self._missing.difference_update(found)

    def keep_all(self, ids: Sequence[str], places: Mapping[str, int], cosines: "NDArray[np.float32]") -> None:
        """Keep the cosines of a whole shelf. The nearest are chosen once all shelves are there."""
        self._measured.append((ids, cosines))
        self.keep_wanted(places, cosines.__getitem__)

    def nearest(self) -> dict[str, float]:
        """Return the nearest of all shelves, and the ids of `also`."""
        import numpy as np

        if self._measured:
            cosines = np.concatenate([some for _, some in self._measured])
            begins = [0, *accumulate(len(ids) for ids, _ in self._measured)]
            for place in _highest(cosines, self.most):
                shelf = bisect(begins, place) - 1
                self.keep(self._measured[shelf][0][place - begins[shelf]], float(cosines[place]))
        best = nlargest(self.most, self.cosines, key=self.cosines.__getitem__)
        wanted = dict.fromkeys((*best, *(one for one in self.also if one in self.cosines)))
        return {one: self.cosines[one] for one in wanted}


@dataclass(slots=True)
class _Matrix:
    """Rows in the order of their numbers, each with its scale, and room for more. `places` maps ids to rows.

    Integers from -127 to 127 take a quarter of the memory of floats. They are as fast, because a piece fits the
    processor's cache. A cosine is off by a few thousandths at most.
    """

    ids: list[str]
    room: "NDArray[np.int8]"
    scales: "NDArray[np.float32]"
    last: int = 0
    places: dict[str, int] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        return self.room.nbytes + self.scales.nbytes

    def cosines(self, vectors: "NDArray[np.float32]") -> "NDArray[np.float32]":
        """Return the cosines of all rows with some vectors, as (vector, row)."""
        import numpy as np

        size = len(self.ids)
        found = np.empty((len(vectors), size), np.float32)
        floats = np.empty((min(size, _MEASURED), self.room.shape[1]), np.float32)
        for begin in range(0, size, _MEASURED):
            end = min(begin + _MEASURED, size)
            some = floats[: end - begin]
            np.copyto(some, self.room[begin:end])
            found[:, begin:end] = vectors @ some.T
        found *= self.scales[:size]
        return found

    def some_cosines(self, vector: "Vector", places: Sequence[int]) -> "NDArray[np.float32]":
        import numpy as np

        cosines: NDArray[np.float32] = (self.room[places].astype(np.float32) @ vector) * self.scales[places]
        return cosines


class Shelves:
    """The matrices of the shelves of one vectors.db within a budget of bytes. Blocks, in one thread alone."""

    def __init__(self, file: VectorFile, budget: int = BUDGET) -> None:
        self._file = file
        self._budget = budget
        self._loaded: OrderedDict[Shelf, _Matrix] = OrderedDict()
        self._too_large: dict[Shelf, tuple[int, int]] = {}  # the highest number and the size at the last count
        self._bytes = 0  # of all that is loaded
        self._version = -1
        self._newest, self._removed = 0, ""
        self._current: set[Shelf] = set()
        self._asked: set[Shelf] = set()  # in this query

    def look(self) -> None:
        """Detect whether the file was written since, and on which shelves. Must be called before each query."""
        self._asked.clear()
        if (version := self._file.version()) == self._version:
            return
        newest, removed = self._file.newest(), self._file.fact(REMOVED)
        if removed == self._removed:
            self._current.difference_update(self._file.shelves_above(self._newest))
        else:
            self._current.clear()
        self._version, self._newest, self._removed = version, newest, removed

    def scan(self, shelf: Shelf, searches: Sequence[Search], *, above: int = 0) -> bool:
        """Measure all vectors of a shelf with a number above `above`. Return False if they exceed the budget."""
        import numpy as np

        matrix = self._matrix(shelf, above)
        if matrix is None:
            return False
        if matrix.ids:
            measured = matrix.cosines(np.stack([one.vector for one in searches]))
            for search, cosines in zip(searches, measured, strict=True):
                search.add(cosines)
                search.keep_all(matrix.ids, matrix.places, cosines)
        return True

    def pick(self, shelf: Shelf, searches: Sequence[Search]) -> None:
        """Measure the ids of `also` on a shelf that is loaded."""
        if shelf in self._current and (matrix := self._loaded.get(shelf)) is not None:
            for search in searches:
                search.keep_wanted(matrix.places, partial(matrix.some_cosines, search.vector))

    def _matrix(self, shelf: Shelf, above: int) -> _Matrix | None:
        if above:  # the few vectors that Chroma doesn't have yet
            return _extended(_empty(), self._file.after(shelf, above))
        known = self._loaded.get(shelf)
        if known is None and self._is_known_as_too_large(shelf):
            return None
        if known is None or shelf not in self._current:
            before = known.nbytes if known else 0
            known = self._brought_up(shelf, known)
            self._bytes -= before
            if known is None:
                return None
            self._bytes += known.nbytes
            self._loaded[shelf] = known
            self._current.add(shelf)
        self._loaded.move_to_end(shelf)
        self._asked.add(shelf)
        while self._bytes > self._budget and len(self._loaded) > 1:
            self._let_go(shelf)
        return known

    def _let_go(self, newest: Shelf) -> None:
        """Evict the least recently used matrix, or the newest if a query uses all (it would else reload all)."""
        oldest = next(iter(self._loaded))
        gone = newest if oldest in self._asked else oldest
        self._bytes -= self._loaded.pop(gone).nbytes
        self._current.discard(gone)

    def _is_known_as_too_large(self, shelf: Shelf) -> bool:
        """Return True if the shelf was too large lately. It is counted again only after it grew by about a tenth."""
        last, size = self._too_large.get(shelf, (0, 0))
        return size > 0 and last <= self._file.last(shelf) <= last + size * _GROWN

    def _brought_up(self, shelf: Shelf, known: _Matrix | None) -> _Matrix | None:
        """Return the matrix as the file is now. New rows are appended, and after deletions it is loaded again."""
        size, _ = self._file.extent(shelf)
        if known is not None and known.ids:
            fresh = self._file.after(shelf, known.last)
            if len(known.ids) + len(fresh) == size:
                return _extended(known, fresh)
        self._loaded.pop(shelf, None)
        return self._loaded_anew(shelf, size)

    def _loaded_anew(self, shelf: Shelf, size: int) -> _Matrix | None:
        """Load all rows of a shelf, a piece at a time, to let the event loop run in between."""
        rows = self._file.after(shelf, 0, _PIECE)
        if not rows:
            return _empty()
        length = len(rows[0].raw) // 2  # of two bytes each
        if (length + 4) * size > self._budget:
            self._too_large[shelf] = self._file.last(shelf), size
            return None
        matrix = _empty(length, size)
        while rows:
            matrix = _extended(matrix, rows)
            time.sleep(0)  # lets go of the interpreter's lock
            rows = self._file.after(shelf, matrix.last, _PIECE)
        return matrix


def unpacked(rows: list[StoredVector]) -> "NDArray[np.float32]":
    """Return stored vectors as one matrix. Raises ValueError if their lengths differ."""
    import numpy as np

    if not rows:
        return np.zeros((0, 1), np.float32)
    joined = b"".join(one.raw for one in rows)
    return np.frombuffer(joined, np.float16).reshape(len(rows), -1).astype(np.float32)


def _empty(length: int = 0, size: int = 0) -> _Matrix:
    import numpy as np

    return _Matrix([], np.empty((size, length), np.int8), np.empty(size, np.float32))


def _extended(known: _Matrix, fresh: list[StoredVector]) -> _Matrix:
    """Return the matrix with new rows at its end. Raises ValueError if they have another length."""
    import numpy as np

    if not fresh:
        return known
    have, needed = len(known.ids), len(known.ids) + len(fresh)
    vectors = unpacked(fresh)
    if needed > len(known.room):
        grown = _empty(vectors.shape[1], needed + have // 4)
        if have:
            grown.room[:have], grown.scales[:have] = known.room[:have], known.scales[:have]
        known.room, known.scales = grown.room, grown.scales
    scales = np.maximum(np.abs(vectors).max(axis=1), np.finfo(np.float32).tiny) / _STEPS
    known.scales[have:needed] = scales
    np.rint(vectors / scales[:, None], out=known.room[have:needed], casting="unsafe")
    known.places |= {one.id: have + place for place, one in enumerate(fresh)}
    known.ids += [one.id for one in fresh]
    known.last = fresh[-1].number
    return known


def _highest(cosines: "NDArray[np.float32]", most: int) -> list[int]:
    import numpy as np

    if most <= 0:
        return []
    if len(cosines) <= most:
        return list(range(len(cosines)))
    return [int(place) for place in np.argpartition(-cosines, most)[:most]]
