"""The index of the library in memory.db: passages of files and a full-text search over them."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

from daemon.core.errors import IndexDamaged
from daemon.core.lineage import document_id
from daemon.core.ports.library import IndexedFile, IndexedPassage, Passage
from daemon.core.ports.services import Clock
from daemon.core.value import Value
from daemon.core.words import Term, terms_of
from daemon.memory.database import Database, Transaction, one_of
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.ranking import (
    Candidate,
    Meaning,
    Nearness,
    WordScores,
    fitting,
    rank,
    rank_words,
    worth_showing,
)
from daemon.memory.knowledge.word_index import WordIndex
from daemon.memory.reader_codes import code
from daemon.memory.records import read_row
from daemon.memory.stream.emptying import empty_thoughts_on

T = TypeVar("T")

FROM_ONE_FILE: Final = 2
"""The most passages of one file that a search returns."""

_INDEX: Final = WordIndex("library")
_ID: Final = "LB_"

COMPARED: Final = 60
"""The number of passages found by words that are compared with those found by vectors."""

_EVERYWHERE: Final = code("library")

SLICE: Final = 16
"""The passages written or removed in one transaction, for which other writers wait."""

MOST_FAULTS: Final = 20
"""The most files with faults that an overview names."""


class FaultyFile(Value):
    """A file of the library that can't be read completely. `searched`: a part of it is indexed."""

    path: str
    fault: str
    searched: bool


class LibraryIndex:
    """Stores passages of files and searches them. Implements `PassageIndex`."""

    def __init__(self, database: Database, clock: Clock, meaning: Meaning | None = None) -> None:
        self._database = database
        self._clock = clock
        self._meaning = meaning or Meaning(None, None)

    async def stamps(self) -> Mapping[str, str]:
        return {row["path"]: row["stamp"] for row in await self._database.rows("SELECT path, stamp FROM library_files")}

    async def put(self, files: Sequence[IndexedFile]) -> None:
        """Index files in place of their older versions, a slice at a time. An interrupted file has no stamp."""
        now = self._clock.now_ms()
        await self._shorten(await self._sizes([file.path for file in files]))
        pieces = [piece for file in files for piece in _pieces(file)]
        for some in _in_slices(pieces, lambda piece: len(piece.passages)):

            async def unit(transaction: Transaction, some: Sequence[_Piece] = some) -> None:
                for piece in some:
                    await _put_piece(transaction, piece, now)

            await self._database.write(unit)

    async def remove(self, paths: Collection[str]) -> None:
        """Remove files from the index, a slice at a time. An interrupted file has no stamp."""
        sizes = await self._sizes(paths)
        await self._shorten(sizes)
        for some in _in_slices(list(paths), lambda path: min(sizes.get(path, 0), SLICE)):

            async def unit(transaction: Transaction, some: Sequence[str] = some) -> None:
                for path in some:
                    await _delete_file(transaction, path)

            await self._database.write(unit)

    async def _sizes(self, paths: Collection[str]) -> Mapping[str, int]:
        counts = "SELECT count(*) AS size FROM library_passages WHERE path = :path"

        async def unit(transaction: Transaction) -> Mapping[str, int]:
            rows = [(path, await transaction.one(counts, path=path)) for path in paths]
            return {path: row["size"] for path, row in rows if row is not None and row["size"]}

        return await self._database.read(unit)

    async def _shorten(self, sizes: Mapping[str, int]) -> None:
        for path, size in sizes.items():
            for _ in range(SLICE, size, SLICE):
                await self._database.write(partial(_delete_slice, path))

    async def search(self, query: str, limit: int, *, folders: Collection[str] | None = None) -> tuple[Passage, ...]:
        """Return passages that fit the query by words or by meaning, best first, at most two of one file.

        Passages that share only a common word have `fit` 0. `folders` (the first parts of paths) limits the search.
        Operators of the search language in the query count as plain words. Raises StoreError.
        """
        if not (terms := terms_of(query)) or limit <= 0:
            return ()
        codes = ((_EVERYWHERE,),) if folders is None else tuple((_below(name),) for name in folders)
        [vector] = await self._meaning.vectors_of([query])
        words = await self._search_words(codes, terms)
        best = words.best(COMPARED, {})
        partitions = [code for group in codes for code in group]
        meant = await self._meaning.near(partitions, vector, [_id(seq) for seq in best], turns=False)
        near = Nearness({int(one[len(_ID) :]): far for one, far in meant.own.items() if one.startswith(_ID)})

        async def unit(transaction: Transaction) -> list[Passage]:
            rows = {
                row["seq"]: row
                for row in await _passages(transaction, {*best, *near.own})
                if folders is None or row["path"].partition("/")[0] in folders
            }
            candidates = [Candidate(seq) for seq in sorted(rows)]
            scores = rank(candidates, words, near)
            good = worth_showing(candidates, scores, words, near)
            order = sorted(fitting(candidates, words, near), key=lambda seq: (-scores[seq], seq))
            return [_passage(rows[seq]["path"], rows[seq], scores[seq] if seq in good else 0.0) for seq in order]

        taken = Counter[str]()
        found: list[Passage] = []
        for one in await self._database.read(unit):
            taken[one.document] += 1
            if taken[one.document] <= FROM_ONE_FILE:
                found.append(one)
        return tuple(found[:limit])

    async def _search_words(self, codes: Collection[Sequence[str]], terms: Sequence[Term]) -> WordScores:
        async def unit(transaction: Transaction) -> WordScores:
            return rank_words(await _INDEX.find(transaction, codes, terms), {})

        try:
            return await self._database.read(unit)
        except IndexDamaged:
            await self._database.write(_INDEX.distrust)
            raise

    async def read_on(self, document: str, line: int, most: int) -> tuple[Passage, ...]:
        """Return up to `most` passages of a document, from the one that begins at `line`. Raises StoreError."""
        rows = await self._database.rows(
            """
            SELECT seq, line, place, body FROM library_passages
            WHERE path = :path AND seq >= (SELECT min(seq) FROM library_passages WHERE path = :path AND line = :line)
            ORDER BY seq LIMIT :most
            """,
            path=document,
            line=line,
            most=max(0, most),
        )
        return tuple(_passage(document, row) for row in rows)


async def passages_by_id(transaction: Transaction, ids: Collection[str]) -> tuple[Passage, ...]:
    """Return the indexed passages with these ids. Other ids are ignored."""
    seqs = [int(one[len(_ID) :]) for one in ids if one.startswith(_ID) and one[len(_ID) :].isdecimal()]
    return tuple(_passage(row["path"], row) for row in await _passages(transaction, seqs)) if seqs else ()


async def faulty_files(transaction: Transaction) -> tuple[FaultyFile, ...]:
    """Return the first MOST_FAULTS files with a fault, by path."""
    rows = await transaction.rows(
        """
        SELECT path, fault, EXISTS (SELECT 1 FROM library_passages p WHERE p.path = f.path) AS searched
        FROM library_files f WHERE fault <> '' ORDER BY path LIMIT :most
        """,
        most=MOST_FAULTS,
    )
    return tuple(read_row(FaultyFile, row, searched=bool) for row in rows)


def cited(path: str, line: int, place: str) -> str:
    """Return the citation of a passage: `docs/limits.md:12`, or `docs/report.pdf, page 12` in a document."""
    return f"{path}, {place}" if place else f"{path}:{line}"


async def _passages(transaction: Transaction, seqs: Collection[int]) -> list[sqlite3.Row]:
    among, keys = one_of(seqs)
    return await transaction.rows(
        f"SELECT seq, path, line, place, body FROM library_passages WHERE seq IN {among}",  # noqa: S608 - numbered names alone
        **keys,
    )


def _passage(path: str, row: sqlite3.Row, fit: float = 0.0) -> Passage:
    source = cited(path, row["line"], row["place"])
    return Passage(source, row["body"], document=path, line=row["line"], fit=fit, id=_id(row["seq"]))


def _id(seq: int) -> str:
    return f"{_ID}{seq}"


class _Piece(Value):
    """A group of passages of a file written in one transaction. The last one sets the file's stamp."""

    file: IndexedFile
    passages: Sequence[IndexedPassage]
    first: bool
    last: bool


def _pieces(file: IndexedFile) -> Iterator[_Piece]:
    count = len(file.passages)
    for start in range(0, max(1, count), SLICE):
        yield _Piece(file, file.passages[start : start + SLICE], first=start == 0, last=start + SLICE >= count)


def _in_slices(items: Sequence[T], size: Callable[[T], int]) -> Iterator[Sequence[T]]:
    """Yield items in groups of at most SLICE (the sizes plus one for each item). A larger item is alone."""
    group: list[T] = []
    room = SLICE
    for item in items:
        if group and room < 1 + size(item):
            yield group
            group, room = [], SLICE
        group.append(item)
        room -= 1 + size(item)
    if group:
        yield group


async def _put_piece(transaction: Transaction, piece: _Piece, now: int) -> None:
    file = piece.file
    if piece.first:
        await _delete_file(transaction, file.path)
        await transaction.insert("library_files", path=file.path, stamp="", indexed_ms=now)
    await _insert_passages(transaction, file.path, piece.passages)
    if piece.last:
        await transaction.run(
            "UPDATE library_files SET stamp = :stamp, fault = :fault WHERE path = :path",
            stamp=file.stamp,
            fault=file.fault,
            path=file.path,
        )


async def _insert_passages(transaction: Transaction, path: str, passages: Sequence[IndexedPassage]) -> None:
    """Store and index passages. The words of the file's path find them, too."""
    if not passages:
        return
    values = ", ".join(f"(:path, :line{number}, :place{number}, :body{number})" for number in range(len(passages)))
    stored = await transaction.rows(
        f"INSERT INTO library_passages (path, line, place, body) VALUES {values} RETURNING seq, body",  # noqa: S608  # numbered names alone
        path=path,
        **{f"line{number}": one.line for number, one in enumerate(passages)},
        **{f"place{number}": one.place for number, one in enumerate(passages)},
        **{f"body{number}": one.body for number, one in enumerate(passages)},
    )
    codes = codes_of_passage(path)
    await _INDEX.put(transaction, [(row["seq"], codes, f"{path}\n{row['body']}") for row in stored])


async def _delete_slice(path: str, transaction: Transaction) -> None:
    """Delete the last SLICE passages of a file, and its stamp. A file without a stamp is read again later."""
    rows = await transaction.rows(
        "SELECT seq FROM library_passages WHERE path = :path ORDER BY seq DESC LIMIT :slice", path=path, slice=SLICE
    )
    for row in rows:
        await _INDEX.remove(transaction, row["seq"])
        await transaction.run("DELETE FROM library_passages WHERE seq = :seq", seq=row["seq"])
    await transaction.run("UPDATE library_files SET stamp = '' WHERE path = :path", path=path)


async def _delete_file(transaction: Transaction, path: str) -> None:
    rows = await transaction.rows("SELECT seq FROM library_passages WHERE path = :path", path=path)
    for row in rows:
        await _INDEX.remove(transaction, row["seq"])
    await empty_thoughts_on(transaction, [document_id(path)] if rows else [])
    await transaction.run("DELETE FROM library_files WHERE path = :path", path=path)  # the passages follow by cascade


def codes_of_passage(path: str) -> tuple[str, ...]:
    return _EVERYWHERE, _below(path.partition("/")[0])


def _below(folder: str) -> str:
    return code("folder", folder)
