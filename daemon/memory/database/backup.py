"""Backups of memory.db with SQLite's backup API: under a temporary name, then checked, then renamed.

Plain file calls never open, copy or hash a live file, because on POSIX closing it drops the process's locks. A file is
moved away by renaming its path.
"""

import os
import secrets
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial as part
from pathlib import Path
from typing import Final

from daemon.core.concurrency import alongside, in_background
from daemon.core.errors import SchemaMismatch, StoreError
from daemon.core.ports import DutyTurn
from daemon.core.ports.services import Clock, Emit
from daemon.core.value import Value
from daemon.memory.database import Database, sqlite
from daemon.memory.database.copies import (
    PARTIAL,
    all_copies,
    folder_beside,
    name_at,
    newest_copy,
    pause_ms,
    require_room,
    room_for,
    rotate,
)
from daemon.memory.database.schema import SCHEMA
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.database.work_thread import copy_pages, pause_between

_LEAST_PATIENCE_S: Final = 60.0
_LONGEST_STEP_S: Final = 10.0  # seconds of a step that count; a longer step means a moved clock
_SLOWEST: Final = 2e6  # bytes a second that a copy makes at least, next to all other work
_MOST_FAULTS: Final = 10
_RETRY_S: Final = 60.0
_FLUSH_S: Final = 0.5
_STEPS: Final = 100_000  # of SQLite's virtual machine, some milliseconds
COMPANIONS: Final = ("-journal", "-wal", "-shm")


class Backup(Value):
    path: Path
    schema: int
    bytes: int


def back_up(path: Path, target: Path, clock: Clock, *, stopped: Callable[[], bool] = lambda: False) -> Backup:
    """Copy memory.db while in use. The copy gets its name only when it is whole, checked and on disk.

    If `target` is a directory, the file is named after the time. Raises StoreError if `path` doesn't exist, the target
    exists or can't be written, the copy fails its check, or the file is too busy. With a rollback journal each write of
    another process restarts the copy, so the daemon itself can copy a large file better.
    """
    if not path.exists():
        raise StoreError(f"there is no {path} to copy", hint="set SOUL_HOME to the data folder")
    target, partial = _begin(target, clock)
    patience = _Patience(path, clock)
    try:
        _require_copied(path, partial, clock, lambda: stopped() or patience.is_over())
        return _finish(partial, target, stopped)
    except OSError as error:
        raise _unwritable(target, error) from error
    finally:
        discard(partial)


def prepare_folder(path: Path, clock: Clock, *, share: float) -> Path:
    """Return the folder for the copies of a memory.db, with room for one more. Raises StoreError."""
    directory = folder_beside(path)
    try:
        _make_room(path, directory, clock, share)
    except OSError as error:
        raise _unusable(directory, error) from error
    return directory


def _make_room(path: Path, directory: Path, clock: Clock, share: float) -> tuple[Path, ...]:
    """Delete outdated copies, also if there is no room for a new one. Raises StoreError or OSError."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    room = room_for(path, directory, share)
    gone = rotate(directory, clock.now_ms(), room, wanted=room.file)
    require_room(room_for(path, directory, share), directory)
    return gone


def _unusable(directory: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{directory} can't be used: {error.strerror}", hint="check its owner, its mode and the free space on the disk"
    )


def _begin(target: Path, clock: Clock) -> tuple[Path, Path]:
    """Create the private temporary file of a copy, and return the final and the temporary path. Raises StoreError."""
    if target.is_dir():
        target = target / name_at(clock.now_ms())
    if target.exists():
        raise StoreError(f"{target} exists already", hint="choose another file name, or a folder")
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}{PARTIAL}")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise _unwritable(target, error) from error
    return target, partial


def _require_copied(path: Path, partial: Path, clock: Clock, stopped: Callable[[], bool]) -> None:
    try:
        # Opened for writing, because only then can SQLite roll back what a killed process left half written.
        with closing(sqlite.connect(path)) as source:
            copy_pages(source, partial, pause_between(clock), stopped)
    except sqlite3.Error as error:
        raise sqlite.translate(error) from error


def _finish(partial: Path, target: Path, stopped: Callable[[], bool]) -> Backup:
    sync(partial)
    found = verify(partial, stopped)
    partial.rename(target)
    sync(target.parent)
    _leave_the_cache(target)
    return Backup(target, found.schema, found.bytes)


def _leave_the_cache(copy: Path) -> None:
    if hasattr(os, "posix_fadvise"):
        handle = os.open(copy, os.O_RDONLY)
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)


class _Patience:
    """A timeout for a copy that takes far too long. A jump of the clock, as in the local workspace, doesn't count."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._clock = clock
        self._left = max(_LEAST_PATIENCE_S, path.stat().st_size / _SLOWEST)
        self._seen = clock.monotonic()

    def is_over(self) -> bool:
        """Return True if the copy has taken too long. Called at each step."""
        now = self._clock.monotonic()
        self._left -= min(now - self._seen, _LONGEST_STEP_S)
        self._seen = now
        return self._left < 0


def _unwritable(target: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{target} can't be written: {error.strerror}", hint="choose a writable folder with enough free space"
    )


def verify(path: Path, stopped: Callable[[], bool] = lambda: False) -> Backup:
    """Check a copy, unless `stopped`. Raises SchemaMismatch, or StoreError for a damaged, empty or missing one."""
    if not path.is_file():
        raise StoreError(
            f"there is no file {path}",
            hint="give the path of a backup; the folder `backups` beside memory.db holds them",
        )
    try:
        with closing(sqlite.connect(path, read_only=True)) as connection:
            schema = sqlite.schema_version(connection)
            connection.set_progress_handler(lambda: int(stopped()), _STEPS)
            faults = file_faults(connection)
    except sqlite3.Error as error:
        if stopped():
            raise StoreError("the copy was not finished", hint="nothing to do: the next one is made later") from error
        raise StoreError(f"{path} is damaged: {error}", hint="choose another backup") from error
    if faults:
        raise StoreError(f"{path} is damaged: {'; '.join(faults)}", hint="choose another backup")
    if schema == 0:
        raise StoreError(f"{path} is empty", hint="choose another backup")
    if schema > SCHEMA:
        raise SchemaMismatch(
            f"{path} has schema {schema}, this program knows {SCHEMA}", hint="update the program first"
        )
    return Backup(path, schema, path.stat().st_size)


def file_faults(connection: sqlite3.Connection) -> list[str]:
    """Return the faults that SQLite finds in the whole file, at most ten of a kind. Raises sqlite3.Error."""
    faults = check_pragma(connection, "integrity_check")
    for row in connection.execute("PRAGMA foreign_key_check").fetchmany(_MOST_FAULTS):
        faults.append(f"a row of {row[0]} refers to a row of {row[2]} that is missing")
    return faults


def check_pragma(connection: sqlite3.Connection, pragma: str) -> list[str]:
    """Return the faults that `integrity_check` or `quick_check` reports. Raises sqlite3.Error."""
    lines = [str(row[0]) for row in connection.execute(f"PRAGMA {pragma}({_MOST_FAULTS})")]
    return [] if lines == ["ok"] else lines


class BackupSchedule:
    """The regular checked copies, made only if anything lasting was stored since the last one.

    All copies together take at most `share` (0..1) of the disk, and leave twice the size of memory.db free on it.
    `turn` says if this daemon makes the copies.
    """

    def __init__(
        self, database: Database, directory: Path, clock: Clock, emit: Emit, *, share: float, turn: DutyTurn
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._emit = emit
        self._share = share
        self._turn = turn
        self._copied: tuple[int, int] | None = None  # the fingerprint of what the last copy holds

    async def run(self) -> None:
        """Make copies until cancelled, in turn with other daemons. A failure emits `backup.failed`, then a retry."""
        pause = 0.0
        while True:
            try:
                await self._clock.sleep(max(pause, await self._seconds_until_due()))
                pause = 0.0
                if await self._seconds_until_due() > 0:
                    continue  # another daemon was first
                async with self._turn() as pause:
                    if not pause and await self._seconds_until_due() <= 0:
                        await self._make_one()
            except (StoreError, OSError) as error:
                failure = error if isinstance(error, StoreError) else _unusable(self._directory, error)
                self._emit("backup.failed", reason=failure.message, hint=failure.hint)
                await self._clock.sleep(_RETRY_S)

    async def _make_one(self) -> None:
        fingerprint = await self._database.fingerprint()
        if fingerprint == self._copied and newest_copy(self._directory, self._clock.now_ms()) is not None:
            await in_background(self._say_that_the_newest_holds)
            return
        gone = await in_background(self._make_room)
        made = await self._copy()
        self._copied = fingerprint
        gone += await in_background(self._thin)
        self._emit("backup.made", file=made.path.name, bytes=made.bytes, rotated=len(gone))

    async def _copy(self) -> Backup:
        stop = threading.Event()
        target, partial = await in_background(part(_begin, self._directory, self._clock))
        patience = _Patience(self._database.path, self._clock)
        try:
            async with alongside(in_background(part(_keep_flushing, partial, stop))):
                await self._database.copy_to(partial, lambda: stop.is_set() or patience.is_over())
                return await in_background(part(_finish, partial, target, stop.is_set))
        finally:
            stop.set()  # what still runs in a thread ends with its next step
            discard(partial)

    def _say_that_the_newest_holds(self) -> None:
        """Set the time of the newest copy to now, since nothing changed after it was made."""
        now = self._clock.now_ms()
        if copies := list(all_copies(self._directory)):
            os.utime(copies[-1], (now / 1000, now / 1000))

    def _make_room(self) -> tuple[Path, ...]:
        return _make_room(self._database.path, self._directory, self._clock, self._share)

    def _thin(self) -> tuple[Path, ...]:
        room = room_for(self._database.path, self._directory, self._share)
        return rotate(self._directory, self._clock.now_ms(), room)

    async def _seconds_until_due(self) -> float:
        return await in_background(self._until_due)

    def _until_due(self) -> float:
        now, path = self._clock.now_ms(), self._database.path
        newest = newest_copy(self._directory, now) or 0
        return max(0.0, (newest + pause_ms(path.stat().st_size) - now) / 1000)


def _keep_flushing(partial: Path, stop: threading.Event) -> None:
    while not stop.wait(_FLUSH_S):
        with suppress(OSError):
            sync(partial)


def discard(path: Path) -> None:
    for suffix in ("", *COMPANIONS):
        with suppress(OSError):
            path.with_name(path.name + suffix).unlink()


def sync(path: Path) -> None:
    """Flush a file, or the names in a directory, to the disk (fsync)."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
