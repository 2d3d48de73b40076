"""The migration of memory.db to this program's schema in one transaction. Alembic is imported only if a step is due."""

from contextlib import closing, suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

import daemon
from daemon.core.errors import SchemaMismatch, StoreError
from daemon.core.ports.services import SystemClock
from daemon.memory.database import copies, sqlite
from daemon.memory.database.sqlite import sqlite3

SCHEMA = 16  # the newest step in migrations/versions
_EXAMPLE: Final = Path(daemon.__file__).parent.parent / "memory.db.example"


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


def require_current(found: int) -> None:
    """Raise SchemaMismatch if the file is newer than this program, or older and not yet migrated."""
    if found > SCHEMA:
        raise SchemaMismatch(
            f"memory.db has schema {found}, this program knows {SCHEMA}",
            hint="update the program; the file is unchanged",
        )
    if found < SCHEMA:
        raise SchemaMismatch(f"memory.db has schema {found}, this program needs {SCHEMA}", hint="run `soul db migrate`")


def prepare(path: Path) -> tuple[int, int]:
    """Migrate as `migrate`, but copy the example for a new file if there is one: the steps take half a second."""
    if not path.exists():
        with suppress(OSError, sqlite3.Error, StoreError):  # the steps make it then, or say what is wrong
            _copy_example(path)
    return migrate(path)


def migrate(path: Path) -> tuple[int, int]:
    """Create or update the file, and return the version before and after.

    All steps commit together or not at all. An existing file is first copied into the folder of its backups. Raises
    SchemaMismatch for a newer or another program's file, StoreError if the folder can't be written or the copy has no
    room.
    """
    before = version_of(path)
    if before == SCHEMA:
        return before, before
    if before > SCHEMA:
        require_current(before)
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
            _upgrade(connection)
        except sqlite3.Error as error:
            raise sqlite.translate(error) from error
    return before, SCHEMA


def _copy_example(path: Path) -> None:
    """Copy the example, then rename it unless another daemon was faster. Raises OSError, sqlite3.Error."""
    draft = path.with_name(f".{path.name}-{uuid4()}")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with closing(sqlite3.connect(f"{_EXAMPLE.as_uri()}?mode=ro", uri=True)) as example:
            if sqlite.schema_version(example) != SCHEMA:
                return
            draft.touch(mode=0o600)
            with closing(sqlite.connect(draft)) as copy:
                example.backup(copy)
        path.hardlink_to(draft)
    finally:
        draft.unlink(missing_ok=True)


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


def _upgrade(connection: sqlite3.Connection) -> None:
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine, event
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.pool import StaticPool

    engine = create_engine("sqlite://", module=sqlite3, creator=lambda: connection, poolclass=StaticPool)
    # The driver's own BEGIN is deferred; IMMEDIATE takes the write lock before the version is read a second time.
    event.listen(engine, "begin", lambda conn: conn.exec_driver_sql("BEGIN IMMEDIATE"))
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    try:
        with engine.begin() as transaction:
            if sqlite.schema_version(connection) < SCHEMA:
                config.attributes["connection"] = transaction
                command.upgrade(config, f"{SCHEMA:04d}")
                connection.execute(f"PRAGMA application_id={sqlite.APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version={SCHEMA}")
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error):
            raise error.orig from error
        raise
    finally:
        engine.dispose(close=False)
