"""SQLite's own parts: connections, pragmas, the WAL-reset fault, and error codes as StoreErrors.

Each setting has a measured reason: below `synchronous=FULL` a power loss takes acknowledged rows with it. Before SQLite
3.51.3 (and 3.50.7, 3.44.6 on their branches) a second writer's WAL can be reset. Without `secure_delete` deleted text
stays in the file.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from daemon.core.errors import SchemaMismatch, StoreBusy, StoreDamaged, StoreError, StoreFull
from daemon.core.text import storable

if TYPE_CHECKING:
    import sqlite3
else:
    try:
        from pysqlite3 import dbapi2 as sqlite3
    except ImportError:  # no wheel for this system
        import sqlite3

__all__ = ["sqlite3"]


APPLICATION_ID = 0x534F554C  # "SOUL"; it marks the file as this program's, also for the `file` command
_NOT_DISK_ERRORS = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

RESTORE = "stop the daemon, run `soul db check`, then `soul db restore BACKUP` with the newest copy in `backups`"

_WAL_FIXED = (3, 51, 3)
_WAL_FIXED_ON_BRANCH = {(3, 44): 6, (3, 50): 7}
_CHECKED_WHOLE = 32 * 2**20  # bytes, read in a fraction of a second
_SEARCH = "fts5"  # in every fault of a full-text index, as SQLite words it
_BUSY_S = 5.0  # another process may write while a file is opened; `open_database` sets a shorter wait afterwards
_TRIES = 20  # for several daemons that create one file at once
_PRAGMAS = (
    "PRAGMA synchronous=FULL",
    "PRAGMA fullfsync=ON",  # without it macOS does not flush the drive's own cache
    "PRAGMA foreign_keys=ON",
    "PRAGMA secure_delete=ON",
    "PRAGMA trusted_schema=OFF",
    "PRAGMA cell_size_check=ON",
    "PRAGMA mmap_size=0",
    "PRAGMA journal_size_limit=67108864",
    "PRAGMA temp_store=MEMORY",
)


class ReadTooLong(sqlite3.OperationalError):
    """An error: a read exceeded its time budget and was ended, because it delays commits."""


def wal_is_safe(version: Sequence[int] = sqlite3.sqlite_version_info) -> bool:
    """Return True if this SQLite is free of the WAL-reset fault (sqlite.org/wal.html)."""
    major, minor, patch = tuple(version)[:3]
    fixed_branch = _WAL_FIXED_ON_BRANCH.get((major, minor))
    return (major, minor, patch) >= _WAL_FIXED or (fixed_branch is not None and patch >= fixed_branch)


def connect(path: Path, *, create: bool = True, read_only: bool = False) -> sqlite3.Connection:
    """Open memory.db with the settings above, in autocommit mode: callers begin each transaction explicitly.

    An existing file keeps its journal mode, because another process may have it open. Rollback journals are truncated,
    not deleted, which saves a directory sync. A `read_only` connection can't roll back the journal of a killed process.
    Raises StoreError.
    """
    mode = "ro" if read_only else "rwc" if create else "rw"
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    try:
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=_BUSY_S)
    except sqlite3.Error as error:
        raise StoreError(
            f"{path} can't be opened: {error}", hint="check that the folder exists and is writable"
        ) from error
    try:
        connection.row_factory = sqlite3.Row
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        if not read_only:
            _choose_journal(connection)
    except sqlite3.Error as error:
        connection.close()
        raise translate(error, path.name) from error
    return connection


def _choose_journal(connection: sqlite3.Connection) -> None:
    # In this order: a file that another daemon makes now is either still fresh, or already in that daemon's mode.
    fresh = connection.execute("PRAGMA page_count").fetchone()[0] == 0
    if journal_mode(connection) == "wal":
        return
    if fresh and wal_is_safe():
        _begin_log(connection)
    else:
        connection.execute("PRAGMA journal_mode=TRUNCATE")


def _begin_log(connection: sqlite3.Connection) -> None:
    """Switch a new file to WAL mode. If several processes do so at once, SQLite refuses some without any wait."""
    for tries_left in reversed(range(_TRIES)):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if not is_busy(error) or not tries_left:
                raise
            connection.execute("BEGIN IMMEDIATE")  # waits for the one that goes first
            connection.execute("ROLLBACK")
        else:
            return


def journal_mode(connection: sqlite3.Connection) -> str:
    """Return the journal mode: `wal`, `truncate`, `delete` …"""
    return str(connection.execute("PRAGMA journal_mode").fetchone()[0])


def checkpoint(connection: sqlite3.Connection, how: str) -> int:
    """Checkpoint the log (`how`: PASSIVE or TRUNCATE). Return its bytes that are left, all if TRUNCATE failed."""
    busy, frames, moved = connection.execute(f"PRAGMA wal_checkpoint({how})").fetchone()
    page = connection.execute("PRAGMA page_size").fetchone()[0]
    moved = 0 if busy and how == "TRUNCATE" else moved
    return max(0, int(frames) - int(moved)) * int(page)


def look_over(connection: sqlite3.Connection) -> list[str]:
    """Return the faults that a quick check finds: in all of a small file, in the newest rows of a large one.

    SQLite's own check can't be ended early and reads the whole file. Damage in a full-text index doesn't count, because
    the index is rebuilt. Raises sqlite3.Error, also for damage.
    """
    pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    if pages * size <= _CHECKED_WHOLE:
        lines = [str(row[0]) for row in connection.execute("PRAGMA quick_check(10)")]
        return [line for line in lines if line != "ok" and _SEARCH not in line.lower()][:3]
    for (name,) in connection.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND wr = 0"
    ).fetchall():
        connection.execute(f'SELECT * FROM "{name}" ORDER BY rowid DESC LIMIT 50').fetchall()  # noqa: S608 - its own names
    return []


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the schema version of an open file, 0 if empty. Raises SchemaMismatch for another program's file."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if application != APPLICATION_ID and connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        raise SchemaMismatch(
            "the database was made by another program",
            hint="set SOUL_HOME to a folder that holds no other program's memory.db",
        )
    return version


def is_busy(error: sqlite3.Error) -> bool:
    """Return True if another connection holds a lock, and a retry can help."""
    return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _NOT_DISK_ERRORS


def translate(error: sqlite3.Error, file: str = "memory.db") -> StoreError:
    """Return the StoreError, with a hint, for an error of SQLite on this file."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if isinstance(error, ReadTooLong):
        return StoreBusy(
            f"reading {file} took too long: {error}",
            hint="try again; if it stays so, the disk is slow or busy: see `soul doctor`",
        )
    if code in _NOT_DISK_ERRORS:
        return StoreBusy(
            f"{file} is held by another process", hint="see which daemons use it with `soul status`, then try again"
        )
    if code == sqlite3.SQLITE_FULL:
        return StoreFull("the disk is full; nothing was stored", hint=f"free space on the disk that holds {file}")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreDamaged(f"{file} is damaged: {error}", hint=RESTORE)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return StoreError(f"{file} can't be written: {error}", hint="check the owner and mode of the data folder")
    return StoreError(f"{file} failed: {error}", hint="run `soul db check`")


T = TypeVar("T")
Unit = Callable[["Transaction"], Awaitable[T]]


class Transaction:
    """The statements of one transaction. Each fetches all its rows at once: no cursor outlives a statement."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def rows(self, sql: str, **values: object) -> list[sqlite3.Row]:
        """Run a statement and fetch all its rows. A lone surrogate in a text is stored as U+FFFD."""
        try:
            return self._connection.execute(sql, values).fetchall()
        except UnicodeEncodeError:  # JSON can carry a lone surrogate, UTF-8 can't; the statement has not run yet
            return self._connection.execute(sql, {name: _storable(value) for name, value in values.items()}).fetchall()

    async def one(self, sql: str, **values: object) -> sqlite3.Row | None:
        """Run a statement and fetch its first row, if any."""
        rows = await self.rows(sql, **values)
        return rows[0] if rows else None

    async def gathered(self, sql: str, **values: object) -> list[Any]:
        """Run a statement whose one value is a JSON array, such as `json_group_array` gives, and return that array.

        Use it for some hundred small rows: between rows the driver releases Python's lock, and waits for it while
        another thread works.
        """
        (row,) = await self.rows(sql, **values)
        gathered: list[Any] = json.loads(row[0])
        return gathered

    async def run(self, sql: str, **values: object) -> None:
        """Run a statement for its effect."""
        await self.rows(sql, **values)

    async def run_for_each(self, sql: str, keys: Iterable[object]) -> int:
        """Run a statement once for each `:key`, and return the number of changed rows."""
        return self._connection.executemany(sql, [{"key": key} for key in keys]).rowcount

    async def insert(self, table: str, then: str = "", /, **values: object) -> sqlite3.Row | None:
        """Insert one row.

        `then` may hold `ON CONFLICT` and `RETURNING` clauses, whose row is returned. Table, column names and `then`
        become part of the statement: they must be literals of this package, never input.
        """
        columns, placeholders = ", ".join(values), ", ".join(f":{name}" for name in values)
        return await self.one(f"INSERT INTO {table} ({columns}) VALUES ({placeholders}) {then}", **values)  # noqa: S608


def one_of(values: Iterable[object]) -> tuple[str, dict[str, object]]:
    """Return the SQL list after `IN` for these values, and the values by their names in it."""
    named = {f"one{number}": value for number, value in enumerate(values)}
    return f"({', '.join(f':{name}' for name in named)})", named


def run_unit(unit: Unit[T], connection: sqlite3.Connection) -> T:
    """Run a unit in this thread without a return to the event loop: a busy loop can't prolong a transaction.

    Raises the unit's errors, and RuntimeError if it awaits anything but its transaction. A model, the network or a file
    would hold the lock against all other writers.
    """
    steps = unit(Transaction(connection)).__await__()
    try:
        next(steps)
    except StopIteration as end:
        value: T = end.value
        return value
    close = getattr(steps, "close", None)
    if close is not None:
        close()
    raise RuntimeError("a unit of work may await nothing but its transaction")


def _storable(value: object) -> object:
    return storable(value) if isinstance(value, str) else value
