"""The index of the library in memory.db: passages of files and SQLite's full-text search over them (FTS5).

Every database has its own full-text search, so only this module uses it.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from daemon.core.ports import Clock, IndexedFile, IndexedPassage, Passage
from daemon.memory.database import Database, Transaction
from daemon.memory.records import read_row

FROM_ONE_FILE = 2
"""How many passages of one file a search returns."""

_MOST_TERMS = 32
_LONGEST_TERM = 64
_SHORTEST_TERM = 3  # letters; a query of shorter words alone is searched for them
_PREFIX = 4  # letters; a word of this length also finds longer words that begin with it
_ROWS = 100  # in one INSERT


MOST_FAULTS = 20
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
        """Passages that contain a word of the query, best first (bm25), at most two of one file.

        With `folders`, the first parts of paths, only passages below them are looked at. Any text is a query; operators
        of the search language in it count as plain words. Raises StoreError.
        """
        if not (terms := search_terms(query)) or (folders is not None and not folders):
            return ()
        names = {f"folder{number}": f"{name}/" for number, name in enumerate(folders or ())}
        below = " OR ".join(f"substr(p.path, 1, length(:{name})) = :{name}" for name in names) or "1 = 1"
        rows = await self._database.rows(
            f"""
            WITH hits AS (SELECT rowid AS seq, rank AS score FROM library_index WHERE library_index MATCH :match),
              ranked AS (SELECT p.path, p.line, p.place, p.body, p.seq, h.score,
                           row_number() OVER (PARTITION BY p.path ORDER BY h.score, p.seq) AS nth
                         FROM hits h JOIN library_passages p ON p.seq = h.seq
                       WHERE {below})
            SELECT path, line, place, body FROM ranked WHERE nth <= :each ORDER BY score, seq LIMIT :limit
            """,  # noqa: S608  # numbered names alone
            **names,
            match=" OR ".join(f'"{term}"*' if len(term) >= _PREFIX else f'"{term}"' for term in terms),
            each=FROM_ONE_FILE,
            limit=max(0, limit),
        )
        return tuple(Passage(cited(row["path"], row["line"], row["place"]), row["body"]) for row in rows)


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


def search_terms(query: str) -> tuple[str, ...]:
    """The words of a text to search for, each once; they consist of letters and digits and need no escaping."""
    words = words_of(query)
    long_words = [word for word in words if len(word) >= _SHORTEST_TERM] or words
    return tuple(dict.fromkeys(word[:_LONGEST_TERM] for word in long_words))[:_MOST_TERMS]


def words_of(text: str) -> list[str]:
    """The words of a text in order, normalized for comparison."""
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFC", text).casefold())


async def _insert_passages(transaction: Transaction, path: str, passages: Sequence[IndexedPassage]) -> None:
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
    await transaction.run(
        "INSERT INTO library_index (rowid, body) SELECT seq, body FROM library_passages WHERE path = :path", path=path
    )


async def _delete_file(transaction: Transaction, path: str) -> None:
    """Delete a file and its passages; the index needs their exact text for it (sqlite.org/fts5.html, section 4.4.3)."""
    await transaction.run(
        """
        INSERT INTO library_index (library_index, rowid, body)
        SELECT 'delete', seq, body FROM library_passages WHERE path = :path
        """,
        path=path,
    )
    await transaction.run("DELETE FROM library_files WHERE path = :path", path=path)  # the passages follow by cascade
