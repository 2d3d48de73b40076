"""The client for Chroma, which runs in a separate process."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from daemon.core.errors import StoreError
from daemon.core.workers import WorkerFailed, WorkerProcess
from daemon.memory.retrieval.vector_file import Shelf, VectorFile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from daemon.core.ports.vectors import Vector

MOST_COLLECTIONS: Final = 64
"""The most collections. Each collection in use keeps file handles and memory for good."""

_PROGRAM: Final = "daemon.memory.retrieval.chroma_worker"
_ADDED_AT_ONCE: Final = 32  # vectors; a query may wait for one such batch
_PROBED: Final = 8
_SAME: Final = 0.98  # the cosine of a vector with itself, as stored and as found
_NEAREST: Final = 10


class ChromaFailed(StoreError):
    """Chroma's process died, hung or gave an impossible answer. The owner then deletes its folder and starts afresh."""


class Chroma:
    """A Chroma process on one folder, with blocking methods for any thread. Its start raises ChromaFailed.

    The process inherits and holds `lock`, the owner's lock handle, until it ends.
    """

    def __init__(self, folder: Path, lock: int) -> None:
        env = {"OMP_NUM_THREADS": "1", "HOME": str(folder), "TMPDIR": str(folder)}
        try:
            self._process = WorkerProcess(_PROGRAM, str(folder), env=env, fds=(lock,))
        except WorkerFailed as error:
            raise ChromaFailed(f"Chroma can't be opened: {error}") from error

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        self._process.close()

    def names(self) -> list[str]:
        names = self._ask("names")
        return names if isinstance(names, list) else []

    def numbers(self, shelf: Shelf) -> set[int]:
        numbers = self._ask("numbers", str(shelf))
        return set(numbers) if isinstance(numbers, list) else set()

    def add(self, shelf: Shelf, numbers: Sequence[int], vectors: "NDArray[np.float32]") -> None:
        for start in range(0, len(numbers), _ADDED_AT_ONCE):
            some = slice(start, start + _ADDED_AT_ONCE)
            self._ask("add", str(shelf), list(numbers[some]), vectors[some].tobytes())

    def delete(self, shelf: Shelf, numbers: Sequence[int]) -> None:
        self._ask("delete", str(shelf), list(numbers))

    def drop(self, name: str) -> None:
        self._ask("drop", name)

    def query(self, shelf: Shelf, vectors: "Sequence[Vector]", most: int) -> list[dict[int, float]]:
        """Return for each vector the cosines of the nearest ones by their numbers."""
        answer = self._ask("query", str(shelf), [one.tobytes() for one in vectors], most)
        if not isinstance(answer, list) or len(answer) != len(vectors):
            raise ChromaFailed("Chroma gave no answer to a query")
        return [dict(zip(*one, strict=True)) for one in answer]

    def probe(self, shelf: Shelf, file: VectorFile, numbers: Sequence[int]) -> None:
        """Query for some stored vectors by themselves. Raises ChromaFailed if they aren't found."""
        from daemon.memory.retrieval.shelves import unpacked

        step = max(1, len(numbers) // _PROBED)
        rows = file.by_number(list(numbers[::step][:_PROBED]))
        for row, vector in zip(rows, unpacked(rows), strict=True):
            [found] = self.query(shelf, [vector], _NEAREST)
            if row.number not in found and max(found.values(), default=0.0) < _SAME:
                raise ChromaFailed(f"Chroma does not find a vector that it has, in {shelf}")

    def _ask(self, name: str, *arguments: object) -> object:
        try:
            return self._process.ask(name, *arguments)
        except WorkerFailed as error:
            raise ChromaFailed(f"Chroma failed: {error}") from error
