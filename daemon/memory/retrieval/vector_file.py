"""vectors.db: the vectors of memories and their partitions. It is a cache, deleted whenever it is in doubt."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

from daemon.core.errors import SchemaMismatch, StoreBusy, StoreError, StoreFull
from daemon.core.ports.vectors import View
from daemon.core.value import Value
from daemon.memory.database import sqlite
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.retrieval.sources import Embeddable

if TYPE_CHECKING:
    from daemon.core.ports.vectors import Vector

_FORMAT: Final = "1"
_ANEW: Final = "it is made anew by itself"
_AT_ONCE: Final = 500  # ids in one statement
REMOVED: Final = "removed"
"""The fact of the file that counts removals from shelves."""

_NUMBER: Final = 2  # bytes of a float16
_SCHEMA: Final = (
    "CREATE TABLE facts_of_file (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    """
    CREATE TABLE vectors (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL,
      view TEXT NOT NULL,
      digest TEXT NOT NULL,                      -- of the text and the partitions
      vector BLOB NOT NULL,                      -- float16
      UNIQUE (id, view)
    ) STRICT
    """,
    """
    CREATE TABLE shelves (
      partition TEXT NOT NULL,
      view TEXT NOT NULL,
      number INTEGER NOT NULL REFERENCES vectors (number) ON DELETE CASCADE,
      PRIMARY KEY (partition, view, number)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX shelves_by_number ON shelves (number)",
    f"""
    CREATE TRIGGER shelves_removed AFTER DELETE ON shelves BEGIN
      INSERT INTO facts_of_file (name, value) VALUES ('{REMOVED}', '1')
      ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT);
    END
    """,  # noqa: S608 - a constant of this module
)


class VectorsDamaged(StoreError):
    """vectors.db can't be used and has to be created again."""


class VectorsRemoved(VectorsDamaged):
    """vectors.db was removed or replaced. The present file may be another daemon's."""


class Shelf(Value, order=True):
    """The vectors of one partition and view. `str()` names the shelf, also in Chroma."""

    partition: str
    view: View

    def __str__(self) -> str:
        return f"{self.view}-{self.partition}"


class StoredVector(Value):
    """A vector with its number and the id of its memory. `raw` is float16."""

    number: int
    id: str
    raw: bytes


class Placed(Value):
    """A memory with the vectors to store, by view."""

    source: Embeddable
    vectors: "Mapping[View, Vector]"


def digest_of(source: Embeddable, view: View) -> str:
    """Return a digest of the text and the partitions of a memory."""
    parts = "\x1f".join((source.texts[view], *source.partitions))
    return blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class VectorFile:
    """A connection to vectors.db, for one thread at a time. Only the owner of the index opens it for writing.

    A vector has a number that is never reused, and a changed vector gets a new number. A reader that knows all numbers
    up to one needs only those above it. All methods block.
    """

    def __init__(self, path: Path, *, read_only: bool) -> None:
        """Open the file. Raises VectorsDamaged if it has another format, or is missing and only to be read."""
        if read_only and not path.exists():
            raise VectorsDamaged("there is no vectors.db yet", hint="a running daemon makes it")
        with _translated():
            self._connection = sqlite.connect(path, read_only=read_only)
        self._path = path
        self._inode = path.stat().st_ino
        with _translated():
            try:
                self._begin(read_only=read_only)
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        self._connection.close()

    def require_in_place(self) -> None:
        """Raise VectorsRemoved if the file was removed or replaced since it was opened."""
        try:
            inode = self._path.stat().st_ino
        except OSError:
            inode = 0
        if inode != self._inode:
            raise VectorsRemoved("vectors.db was removed", hint=_ANEW)

    def look_over(self) -> None:
        """Check for damage, briefly. Raises VectorsDamaged."""
        with _translated():
            faults = sqlite.look_over(self._connection)
        if faults:
            raise VectorsDamaged(f"vectors.db is damaged: {faults[0]}", hint=_ANEW)

    def fact(self, name: str) -> str:
        """Return a fact about the file (embedder, generation, identity …), or ''."""
        rows = self._rows("SELECT value FROM facts_of_file WHERE name = :name", name=name)
        return str(rows[0]["value"]) if rows else ""

    def note(self, **facts: str) -> None:
        with self._transaction():
            for name, value in facts.items():
                self._rows(
                    """
                    INSERT INTO facts_of_file (name, value) VALUES (:name, :value)
                    ON CONFLICT (name) DO UPDATE SET value = excluded.value
                    """,
                    name=name,
                    value=value,
                )

    def length(self) -> int:
        """Return the number of dimensions of the stored vectors. 0 without any."""
        rows = self._rows("SELECT length(vector) / :size AS length FROM vectors LIMIT 1", size=_NUMBER)
        return int(rows[0]["length"]) if rows else 0

    def version(self) -> int:
        """Return a number that changes when another connection writes."""
        return int(self._rows("PRAGMA data_version")[0][0])

    def digests(self, ids: Sequence[str]) -> dict[tuple[str, View], str]:
        return {
            (row["id"], View(row["view"])): row["digest"]
            for row in self._of_ids("SELECT id, view, digest FROM vectors WHERE id IN (%s)", ids)
        }

    def ids(self) -> set[str]:
        return {row["id"] for row in self._rows("SELECT DISTINCT id FROM vectors")}

    def count(self) -> int:
        return int(self._rows("SELECT count(DISTINCT id) FROM vectors")[0][0])

    def shelves_of(self, ids: Sequence[str]) -> dict[Shelf, list[int]]:
        """Return the numbers of all vectors of some memories, by shelf."""
        found: dict[Shelf, list[int]] = {}
        rows = self._of_ids(
            """
            SELECT s.partition, s.view, s.number FROM vectors v JOIN shelves s ON s.number = v.number
            WHERE v.id IN (%s)
            """,
            ids,
        )
        for row in rows:
            found.setdefault(Shelf(row["partition"], View(row["view"])), []).append(row["number"])
        return found

    def replace(self, gone: Sequence[str], placed: Sequence[Placed]) -> None:
        """Delete the vectors of memories and store those of others, all or nothing."""
        import numpy as np

        with self._transaction():
            self._of_ids("DELETE FROM vectors WHERE id IN (%s)", [*gone, *(one.source.id for one in placed)])
            for one in placed:
                for view, vector in one.vectors.items():
                    (row,) = self._rows(
                        """
                        INSERT INTO vectors (id, view, digest, vector) VALUES (:id, :view, :digest, :vector)
                        RETURNING number
                        """,
                        id=one.source.id,
                        view=view,
                        digest=digest_of(one.source, view),
                        vector=vector.astype(np.float16).tobytes(),
                    )
                    for partition in dict.fromkeys(one.source.partitions):
                        self._rows(
                            "INSERT INTO shelves (partition, view, number) VALUES (:partition, :view, :number)",
                            partition=partition,
                            view=view,
                            number=row["number"],
                        )

    def empty(self) -> None:
        """Delete all vectors. Numbers are not reused."""
        with self._transaction():
            self._rows("DELETE FROM shelves")
            self._rows("DELETE FROM vectors")

    def pack(self) -> None:
        """Rewrite the file without free pages."""
        with _translated():
            self._connection.execute("VACUUM")
            sqlite.checkpoint(self._connection, "TRUNCATE")

    def sizes(self) -> dict[Shelf, int]:
        rows = self._rows("SELECT partition, view, count(*) AS size FROM shelves GROUP BY partition, view")
        return {Shelf(row["partition"], View(row["view"])): row["size"] for row in rows}

    def extent(self, shelf: Shelf) -> tuple[int, int]:
        """Return the number of vectors on a shelf, and the highest vector number. (0, 0) if empty."""
        (row,) = self._rows(
            """
            SELECT count(*) AS size, coalesce(max(number), 0) AS last FROM shelves
            WHERE partition = :partition AND view = :view
            """,
            partition=shelf.partition,
            view=shelf.view,
        )
        return row["size"], row["last"]

    def newest(self) -> int:
        return int(self._rows("SELECT coalesce(max(number), 0) AS newest FROM vectors")[0]["newest"])

    def shelves_above(self, number: int) -> set[Shelf]:
        rows = self._rows("SELECT DISTINCT partition, view FROM shelves WHERE number > :number", number=number)
        return {Shelf(row["partition"], View(row["view"])) for row in rows}

    def last(self, shelf: Shelf) -> int:
        """Return the highest number on a shelf, without a scan. 0 if empty."""
        (row,) = self._rows(
            "SELECT coalesce(max(number), 0) AS last FROM shelves WHERE partition = :partition AND view = :view",
            partition=shelf.partition,
            view=shelf.view,
        )
        return int(row["last"])

    def after(self, shelf: Shelf, number: int, most: int = -1) -> list[StoredVector]:
        """Return up to `most` vectors of a shelf above a number, in the order of numbers (-1: all)."""
        rows = self._rows(
            """
            SELECT v.number, v.id, v.vector FROM shelves s CROSS JOIN vectors v ON v.number = s.number
            WHERE s.partition = :partition AND s.view = :view AND s.number > :number ORDER BY s.number LIMIT :most
            """,
            partition=shelf.partition,
            view=shelf.view,
            number=number,
            most=most,
        )
        return [StoredVector(row["number"], row["id"], row["vector"]) for row in rows]

    def sample(self, shelf: Shelf, every: int) -> list[StoredVector]:
        """Return about one in `every` vectors of a shelf, always the same ones."""
        rows = self._rows(
            """
            SELECT v.number, v.id, v.vector FROM shelves s CROSS JOIN vectors v ON v.number = s.number
            WHERE s.partition = :partition AND s.view = :view AND s.number * 40503 / 64 % :every = 0
            """,
            partition=shelf.partition,
            view=shelf.view,
            every=every,
        )
        return [StoredVector(row["number"], row["id"], row["vector"]) for row in rows]

    def numbers(self, shelf: Shelf) -> list[int]:
        rows = self._rows(
            "SELECT number FROM shelves WHERE partition = :partition AND view = :view ORDER BY number",
            partition=shelf.partition,
            view=shelf.view,
        )
        return [row["number"] for row in rows]

    def by_number(self, numbers: Sequence[int]) -> list[StoredVector]:
        rows = self._of_ids("SELECT number, id, vector FROM vectors WHERE number IN (%s)", numbers)
        return [StoredVector(row["number"], row["id"], row["vector"]) for row in rows]

    def of_view(self, ids: Sequence[str], view: View) -> list[StoredVector]:
        """Return the stored vectors of the memories in a view."""
        rows = self._of_ids("SELECT number, id, view, vector FROM vectors WHERE id IN (%s)", ids)
        return [StoredVector(row["number"], row["id"], row["vector"]) for row in rows if row["view"] == view]

    def _begin(self, *, read_only: bool) -> None:
        try:
            known = sqlite.schema_version(self._connection)
        except SchemaMismatch as error:
            raise VectorsDamaged("vectors.db was made by another program", hint=_ANEW) from error
        if not known and not read_only:
            with self._transaction():
                for statement in _SCHEMA:
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA application_id={sqlite.APPLICATION_ID}")
                self._connection.execute(f"PRAGMA user_version={_FORMAT}")
            self.note(identity=secrets.token_hex(8), generation="1")
        elif str(known) != _FORMAT:
            raise VectorsDamaged("vectors.db has another format", hint=_ANEW)
        self._connection.execute("PRAGMA synchronous=NORMAL")  # a cache
        self._connection.execute("PRAGMA busy_timeout=1000")

    def _of_ids(self, statement: str, ids: Sequence[object]) -> list[sqlite3.Row]:
        found: list[sqlite3.Row] = []
        for start in range(0, len(ids), _AT_ONCE):
            some = {f"id{number}": one for number, one in enumerate(ids[start : start + _AT_ONCE])}
            found += self._rows(statement % ", ".join(f":{name}" for name in some), **some)
        return found

    def _rows(self, statement: str, **values: object) -> list[sqlite3.Row]:
        with _translated():
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with _translated():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")


def delete_files(path: Path) -> None:
    for end in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + end).unlink(missing_ok=True)


@contextmanager
def _translated() -> Iterator[None]:
    """Translate errors to VectorsDamaged, except a lock, and a full or failing disk, which are not damage."""
    try:
        yield
    except StoreBusy:
        raise
    except StoreError as error:
        raise VectorsDamaged(error.message, hint=_ANEW) from error
    except sqlite3.Error as error:
        meant = sqlite.translate(error, "vectors.db")
        if isinstance(meant, StoreBusy | StoreFull):
            raise meant from error
        raise VectorsDamaged(f"vectors.db can't be used: {error}", hint=_ANEW) from error
