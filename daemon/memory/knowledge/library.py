"""The index of the library in memory.db: passages of files and a full-text search over them."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.ports import Clock, IndexedFile, IndexedPassage, Passage
from daemon.core.words import terms_of
from daemon.memory.database import Database, Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.knowledge.word_index import WordIndex
from daemon.memory.reader_codes import code
from daemon.memory.records import read_row

FROM_ONE_FILE: Final = 2
"""How many passages of one file a search returns."""

_INDEX: Final = WordIndex("library")
_EVERYWHERE: Final = code("library")
_ROWS: Final = 100  # in one INSERT


MOST_FAULTS: Final = 20
"""Files whose faults an overview names."""


@dataclass(frozen=True, slots=True)
class FaultyFile:
    """A file of the library that is not read or, if it is `searched` all the same, not to its end: `fault` says why."""

    path: str
    fault: str
    searched: bool


class LibraryIndex:
    """Stores passages of files and searches them; implements `PassageIndex`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def stamps(self) -> Mapping[str, str]:
        """The stamp of each indexed file by its path."""
        return {row["path"]: row["stamp"] for row in await self._database.rows("SELECT path, stamp FROM library_files")}

    async def put(self, files: Sequence[IndexedFile]) -> None:
        """Index files in place of their older versions, all or none."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            for file in files:
                await _delete_file(transaction, file.path)
                await transaction.insert(
                    "library_files", path=file.path, stamp=file.stamp, fault=file.fault, indexed_ms=now
                )
                await _insert_passages(transaction, file.path, file.passages)

        await self._database.write(unit)

    async def remove(self, paths: Collection[str]) -> None:
        """Remove files from the index, all or none."""

        async def unit(transaction: Transaction) -> None:
            for path in paths:
                await _delete_file(transaction, path)

        await self._database.write(unit)

    async def search(self, query: str, limit: int, *, folders: Collection[str] | None = None) -> tuple[Passage, ...]:
        """Passages that contain a word of the query or a form of it, best first, at most two of one file.

        With `folders`, the first parts of paths, only passages below them are visited. Any text is a query; operators
        of the search language in it count as plain words. Raises StoreError.
        """
        if not (terms := terms_of(query)) or limit <= 0:
            return ()
        codes = (_EVERYWHERE,) if folders is None else tuple(_below(name) for name in folders)

        async def unit(transaction: Transaction) -> list[tuple[float, sqlite3.Row]]:
            hits = await _INDEX.find(transaction, codes, terms)
            best = hits.best()
            words = await _INDEX.words(transaction, best)
            rows = await _passages(transaction, best)
            return [
                (hits.fit(words.get(row["seq"], ())), row)
                for row in rows
                if folders is None or row["path"].partition("/")[0] in folders
            ]

        rated = sorted(await self._database.read(unit), key=lambda one: (-one[0], one[1]["seq"]))
        taken = Counter[str]()
        found: list[Passage] = []
        for fit, row in rated:
            taken[row["path"]] += 1
            if taken[row["path"]] <= FROM_ONE_FILE:
                found.append(_passage(row["path"], row, fit))
        return tuple(found[:limit])

    async def read_on(self, document: str, line: int, most: int) -> tuple[Passage, ...]:
        """The passages of a document from the one that begins at a line on, at most so many. Raises StoreError."""
        rows = await self._database.rows(
            """
            SELECT line, place, body FROM library_passages
            WHERE path = :path AND seq >= (SELECT min(seq) FROM library_passages WHERE path = :path AND line = :line)
            ORDER BY seq LIMIT :most
            """,
            path=document,
            line=line,
            most=max(0, most),
        )
        return tuple(_passage(document, row) for row in rows)


async def faulty_files(transaction: Transaction) -> tuple[FaultyFile, ...]:
    """The first MOST_FAULTS files with a fault, by path."""
    rows = await transaction.rows(
        """
        SELECT path, fault, EXISTS (SELECT 1 FROM library_passages p WHERE p.path = f.path) AS searched
        FROM library_files f WHERE fault <> '' ORDER BY path LIMIT :most
        """,
        most=MOST_FAULTS,
    )
    return tuple(read_row(FaultyFile, row, searched=bool) for row in rows)


def cited(path: str, line: int, place: str) -> str:
    """Where a user finds a passage: `docs/limits.md:12`, in a document `docs/report.pdf, page 12`."""
    return f"{path}, {place}" if place else f"{path}:{line}"


async def _passages(transaction: Transaction, seqs: Sequence[int]) -> list[sqlite3.Row]:
    keys = {f"seq{number}": seq for number, seq in enumerate(seqs)}
    among = ", ".join(f":{key}" for key in keys)
    return await transaction.rows(
        f"SELECT seq, path, line, place, body FROM library_passages WHERE seq IN ({among})",  # noqa: S608 - numbered names alone
        **keys,
    )


def _passage(path: str, row: sqlite3.Row, fit: float = 0.0) -> Passage:
    source = cited(path, row["line"], row["place"])
    return Passage(source, row["body"], document=path, line=row["line"], fit=fit)


async def _insert_passages(transaction: Transaction, path: str, passages: Sequence[IndexedPassage]) -> None:
    """Store and index passages; the words of the file's path find them too."""
    for start in range(0, len(passages), _ROWS):
        some = passages[start : start + _ROWS]
        values = ", ".join(f"(:path, :line{number}, :place{number}, :body{number})" for number in range(len(some)))
        await transaction.run(
            f"INSERT INTO library_passages (path, line, place, body) VALUES {values}",  # noqa: S608  # numbered names alone
            path=path,
            **{f"line{number}": one.line for number, one in enumerate(some)},
            **{f"place{number}": one.place for number, one in enumerate(some)},
            **{f"body{number}": one.body for number, one in enumerate(some)},
        )
    codes = (_EVERYWHERE, _below(path.partition("/")[0]))
    stored = await transaction.rows("SELECT seq, body FROM library_passages WHERE path = :path ORDER BY seq", path=path)
    await _INDEX.put(transaction, [(row["seq"], codes, f"{path}\n{row['body']}") for row in stored])


async def _delete_file(transaction: Transaction, path: str) -> None:
    """Delete a file and its passages, out of the index first."""
    for row in await transaction.rows("SELECT seq FROM library_passages WHERE path = :path", path=path):
        await _INDEX.remove(transaction, row["seq"])
    await transaction.run("DELETE FROM library_files WHERE path = :path", path=path)  # the passages follow by cascade


def _below(folder: str) -> str:
    """The code of what stands below a folder, by the first part of its paths."""
    return code("folder", folder)
