"""The schema of memory.db: `schema.sql` makes a fresh file, and the numbered files in `steps` bring older ones up."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from daemon.core.errors import SchemaMismatch, StoreError
from daemon.core.ports.services import SystemClock
from daemon.memory.database import copies, sqlite
from daemon.memory.database.sqlite import sqlite3

_HERE: Final = Path(__file__).parent

BASELINE: Final = 17
"""The number of the schema in `schema.sql`, with which each file begins."""

STEPS: Final = {int(path.name[:4]): path for path in sorted((_HERE / "steps").glob("[0-9]*.sql"))}
"""The later steps, each under the number of the schema that it leads to."""

SCHEMA = max(STEPS, default=BASELINE)
"""The number of this program's schema."""


def version_of(path: Path) -> int:
    """Return a file's schema version, 0 if there is no file. Raises SchemaMismatch for another program's file."""
    if not path.exists():
        return 0
    # Opened for writing: the journal of a killed process must be rolled back before the file can be read.
    with closing(sqlite.connect(path, create=False)) as connection:
        try:
            return sqlite.schema_version(connection)
        except sqlite3.Error as error:
            raise sqlite.translate(error) from error


def require_known(found: int) -> None:
    """Raise SchemaMismatch if the file is newer than this program, or older than the schema with which steps begin."""
    if found > SCHEMA:
        raise SchemaMismatch(
            f"memory.db has schema {found}, this program knows {SCHEMA}",
            hint="update the program; the file is unchanged",
        )
    if 0 < found < BASELINE:
        raise SchemaMismatch(
            f"memory.db has schema {found}, this program takes files from schema {BASELINE} on",
            hint="run `soul memory passport export DIR` with the program that made it, move memory.db away, then run"
            " `soul db migrate` and `soul memory passport import DIR` with this one; the file is unchanged",
        )


def require_current(found: int) -> None:
    """Raise SchemaMismatch if the file is unknown, as in `require_known`, or not yet migrated."""
    require_known(found)
    if found < SCHEMA:
        raise SchemaMismatch(f"memory.db has schema {found}, this program needs {SCHEMA}", hint="run `soul db migrate`")


def migrate(path: Path) -> tuple[int, int]:
    """Create or update the file, and return the version before and after.

    Each step commits by itself: a crash leaves the file at a whole schema. An existing file is first copied into the
    folder of its backups. Raises SchemaMismatch for an unknown or another program's file, StoreError if the folder
    can't be written or the copy has no room.
    """
    before = version_of(path)
    if before == SCHEMA:
        return before, before
    require_known(before)
    fresh = not path.exists()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"{path.parent} can't be created: {error.strerror}", hint="set SOUL_HOME to a writable folder"
        ) from error
    with closing(sqlite.connect(path)) as connection:
        if fresh:  # an existing file keeps the mode that its owner chose
            path.chmod(0o600)  # by path: closing a second handle on the live file would drop the process's locks
        try:
            if before:
                _keep_a_copy(connection, path)
            for number, script in ((BASELINE, _HERE / "schema.sql"), *STEPS.items()):
                _take(connection, number, script)
        except sqlite3.Error as error:
            raise sqlite.translate(error) from error
    return before, SCHEMA


def _take(connection: sqlite3.Connection, number: int, script: Path) -> None:
    """Run a script in one transaction, unless the file has its schema already: another daemon may be faster."""
    connection.execute("BEGIN IMMEDIATE")  # the write lock comes before the version is read a second time
    if sqlite.schema_version(connection) < number:
        for statement in _statements(script.read_text(encoding="utf-8")):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id={sqlite.APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={number}")
    connection.execute("COMMIT")


def _statements(script: str) -> Iterator[str]:
    """Split a script where a line ends a statement. The driver's own `executescript` would commit before it begins."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    yield statement


def _keep_a_copy(connection: sqlite3.Connection, path: Path) -> None:
    """Copy the file before the update, under a name that the rotation of backups handles."""
    folder = copies.folder_beside(path)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        room = copies.room_for(path, folder, share=1.0)
        if room.free < 2 * room.file:
            raise StoreError(
                f"no room to copy {path} before it is updated: {room.file >> 20} MiB of it, {room.free >> 20} MiB free",
                hint=f"make room for twice the file on the disk of {folder}, then start again",
            )
        target = folder / copies.name_at(SystemClock().now_ms())
        partial = target.with_name(target.name + copies.PARTIAL)
        with closing(sqlite3.connect(partial)) as copy:
            partial.chmod(0o600)
            connection.backup(copy)
        partial.rename(target)
    except OSError as error:
        raise StoreError(
            f"{path} can't be copied before it is updated: {error.strerror}", hint=f"make {folder} writable"
        ) from error
