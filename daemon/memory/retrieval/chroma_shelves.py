"""Copies the large shelves of vectors.db into Chroma's collections, a piece at a time, and serves complete ones."""

import shutil
from pathlib import Path
from typing import Final

from daemon.core.ports.services import Clock, Emit
from daemon.memory.retrieval.chroma import MOST_COLLECTIONS, Chroma, ChromaFailed
from daemon.memory.retrieval.shelves import unpacked
from daemon.memory.retrieval.vector_file import Shelf, VectorFile
from daemon.memory.retrieval.vectors import Vectors

FOLDERS: Final = "chroma-"
_PIECE: Final = 256  # vectors that are added before the owner does other work
_TRIES: Final = 3  # failures after which it is left alone for longer
_PAUSE_S: Final = 60.0
_LONG_PAUSE_S: Final = 3_600.0


class ChromaShelves:
    """The copies of shelves in Chroma. All methods block and belong to the owner's thread.

    `least` is SOUL_CHROMA_FROM, `lock` the owner's lock handle. A folder with any fault is deleted, and a new one is
    filled.
    """

    def __init__(
        self, folder: Path, file: VectorFile, index: Vectors, clock: Clock, emit: Emit, *, least: int, lock: int
    ) -> None:
        self._folder = folder
        self._file = file
        self._index = index
        self._clock = clock
        self._emit = emit
        self._least = least
        self._lock = lock
        self._chroma: Chroma | None = None
        self._missing: dict[Shelf, list[int]] = {}
        self._last: dict[Shelf, int] = {}
        self._upto: dict[Shelf, int] = {}
        self._failures = 0
        self._rests_until = float("-inf")

    @property
    def process(self) -> int | None:
        return self._chroma.pid if self._chroma is not None else None

    def step(self) -> bool:
        """Do one piece of the copying. Return True if there is more."""
        try:
            if self._index.failure is not None:
                raise self._index.failure
            return self._step()
        except ChromaFailed as error:
            self._failures += 1
            pause = _LONG_PAUSE_S if self._failures % _TRIES == 0 else _PAUSE_S
            self._rests_until = self._clock.monotonic() + pause
            self._emit("vectors.chroma_failed", reason=error.message, pause=pause)
            self.renew()
            return False

    def forget(self, gone: dict[Shelf, list[int]]) -> None:
        """Delete vectors from Chroma before they are deleted from vectors.db."""
        try:
            for shelf, numbers in gone.items():
                if self._chroma is not None and shelf in self._upto.keys() | self._missing.keys():
                    self._chroma.delete(shelf, numbers)
        except ChromaFailed as error:
            self._emit("vectors.chroma_failed", reason=error.message, pause=0)
            self.renew()

    def renew(self) -> None:
        """Delete the folder. The next one has another generation."""
        self.close()
        self._file.note(generation=str(int(self._file.fact("generation") or "0") + 1), chroma="")
        self._clear_away()

    def close(self) -> None:
        self._index.serve(None, {})
        self._missing, self._upto = {}, {}
        if self._chroma is not None:
            self._chroma.close()
            self._chroma = None

    def _step(self) -> bool:
        wanted = _largest(self._file.sizes(), self._least)
        if not wanted:
            if self._chroma is not None or self._file.fact("chroma"):
                self.renew()
            return False
        if self._chroma is None:
            if self._clock.monotonic() < self._rests_until:
                return False
            self._open()
        assert self._chroma is not None  # opened just now
        for name in {str(one) for one in self._upto.keys() | self._missing.keys()} - {str(one) for one in wanted}:
            self._drop(name)
        chroma = self._chroma
        return any(self._fill(chroma, shelf) for shelf in wanted)  # a piece of one shelf

    def _open(self) -> None:
        self._clear_away()
        place = self._place()
        place.mkdir(mode=0o700, exist_ok=True)
        self._chroma = Chroma(place, self._lock)
        wanted = {str(one) for one in _largest(self._file.sizes(), self._least)}
        for name in self._chroma.names():
            if name not in wanted:
                self._chroma.drop(name)
        self._file.note(chroma="open")

    def _drop(self, name: str) -> None:
        for known in (self._upto, self._missing):
            for shelf in [one for one in known if str(one) == name]:
                del known[shelf]
        self._index.serve(self._chroma, self._upto)
        assert self._chroma is not None  # it has collections
        self._chroma.drop(name)

    def _fill(self, chroma: Chroma, shelf: Shelf) -> bool:
        """Add a piece of the vectors that a shelf's collection lacks. Return True if any were added."""
        if shelf not in self._upto and shelf not in self._missing:
            self._compare(chroma, shelf)
        if (missing := self._missing.get(shelf)) is not None:
            if missing:
                rows = self._file.by_number(missing[:_PIECE])
                chroma.add(shelf, [one.number for one in rows], unpacked(rows))
                del missing[:_PIECE]
                return True
            numbers = self._file.numbers(shelf)
            chroma.probe(shelf, self._file, numbers)
            del self._missing[shelf]
            self._upto[shelf] = self._last[shelf]
            self._index.serve(chroma, self._upto)
            self._emit("vectors.in_chroma", shelf=str(shelf), rows=len(numbers))
        rows = self._file.after(shelf, self._upto[shelf], _PIECE)
        if rows:
            chroma.add(shelf, [one.number for one in rows], unpacked(rows))
            self._upto[shelf] = rows[-1].number
            self._index.serve(chroma, self._upto)
        return bool(rows)

    def _compare(self, chroma: Chroma, shelf: Shelf) -> None:
        have, wanted = chroma.numbers(shelf), self._file.numbers(shelf)
        if orphaned := have.difference(wanted):
            chroma.delete(shelf, sorted(orphaned))
        self._missing[shelf] = [one for one in wanted if one not in have]
        self._last[shelf] = max(wanted, default=0)

    def _place(self) -> Path:
        return self._folder / f"{FOLDERS}{self._file.fact('identity')}-{self._file.fact('generation')}"

    def _clear_away(self) -> None:
        for folder in self._folder.glob(f"{FOLDERS}*"):
            if folder != self._place():
                shutil.rmtree(folder, ignore_errors=True)


def _largest(sizes: dict[Shelf, int], least: int) -> list[Shelf]:
    large = [one for one, size in sizes.items() if size >= least]
    return sorted(large, key=lambda one: (-sizes[one], one))[:MOST_COLLECTIONS]
