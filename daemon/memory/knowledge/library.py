"""The index of the library in memory.db: passages of files and SQLite's full-text search over them (FTS5).

Full-text search is not common to all databases, so it stands here alone (design, section 6).
"""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence

from daemon.core.ports import Clock, Passage
from daemon.memory.database import Database, Transaction

FROM_ONE_FILE = 2
"""Passages of one file among the results."""

_MOST_TERMS = 32
_LONGEST_TERM = 64
_TELLING = 3  # letters; shorter words are looked for only where there are no others
_PREFIX = 4  # letters from which on a word also finds longer ones that begin with it
_ROWS = 100  # of one INSERT


class LibraryIndex:
    """Keeps passages and finds them again; implements `PassageIndex`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def stamps(self) -> Mapping[str, str]:
        """The stamp of every file by its path."""

        async def unit(transaction: Transaction) -> dict[str, str]:
            return {
                row["path"]: row["stamp"] for row in await transaction.rows("SELECT path, stamp FROM library_files")
            }

        return await self._database.read(unit)

    async def put(self, files: Sequence[tuple[str, str, Sequence[tuple[int, str]]]]) -> None:
        """Keep files (path, stamp, passages with their first line) in place of what was known of them, all or none."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            for path, stamp, passages in files:
                await _forget(transaction, path)
                await transaction.run(
                    "INSERT INTO library_files (path, stamp, indexed_ms) VALUES (:path, :stamp, :now)",
                    path=path,
                    stamp=stamp,
                    now=now,
                )
                await _keep(transaction, path, passages)

        await self._database.write(unit)

    async def remove(self, paths: Collection[str]) -> None:
        """Forget files, all or none."""

        async def unit(transaction: Transaction) -> None:
            for path in paths:
                await _forget(transaction, path)

        await self._database.write(unit)

    async def search(self, query: str, limit: int) -> tuple[Passage, ...]:
        """Passages that hold a word of the query, best first (bm25), at most two of one file.

        Any text is a query; operators of the search language in it are words like others. Raises StoreError.
        """
        if not (terms := search_terms(query)):
            return ()

        async def unit(transaction: Transaction) -> tuple[Passage, ...]:
            rows = await transaction.rows(
                """
                WITH hits AS (SELECT rowid AS seq, rank AS score FROM library_index WHERE library_index MATCH :match),
                  ranked AS (SELECT p.path, p.line, p.body, p.seq, h.score,
                               row_number() OVER (PARTITION BY p.path ORDER BY h.score, p.seq) AS nth
                             FROM hits h JOIN library_passages p ON p.seq = h.seq)
                SELECT path, line, body FROM ranked WHERE nth <= :each ORDER BY score, seq LIMIT :limit
                """,
                match=" OR ".join(f'"{term}"*' if len(term) >= _PREFIX else f'"{term}"' for term in terms),
                each=FROM_ONE_FILE,
                limit=max(0, limit),
            )
            return tuple(Passage(f"{row['path']}:{row['line']}", row["body"]) for row in rows)

        return await self._database.read(unit)


def search_terms(query: str) -> tuple[str, ...]:
    """The words of a text that are worth looking for, each once: letters and digits alone, so nothing to escape."""
    words = words_of(query)
    telling = [word for word in words if len(word) >= _TELLING] or words
    return tuple(dict.fromkeys(word[:_LONGEST_TERM] for word in telling))[:_MOST_TERMS]


def words_of(text: str) -> list[str]:
    """The words of a text in order, as they are compared."""
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFC", text).casefold())


async def _keep(transaction: Transaction, path: str, passages: Sequence[tuple[int, str]]) -> None:
    for start in range(0, len(passages), _ROWS):
        some = passages[start : start + _ROWS]
        values = ", ".join(f"(:path, :line{number}, :body{number})" for number in range(len(some)))
        await transaction.run(
            f"INSERT INTO library_passages (path, line, body) VALUES {values}",  # noqa: S608  # names of ours alone
            path=path,
            **{f"line{number}": line for number, (line, _) in enumerate(some)},
            **{f"body{number}": body for number, (_, body) in enumerate(some)},
        )
    await transaction.run(
        "INSERT INTO library_index (rowid, body) SELECT seq, body FROM library_passages WHERE path = :path", path=path
    )


async def _forget(transaction: Transaction, path: str) -> None:
    """Take a file out; the index must be told the very words that it holds (sqlite.org/fts5.html, section 4.4.3)."""
    await transaction.run(
        """
        INSERT INTO library_index (library_index, rowid, body)
        SELECT 'delete', seq, body FROM library_passages WHERE path = :path
        """,
        path=path,
    )
    await transaction.run("DELETE FROM library_files WHERE path = :path", path=path)  # its passages go with it
