"""Copies memory.db with SQLite's backup API: under a temporary name, then checked, then renamed.

Plain file calls never open, copy or hash a live file, because on POSIX closing it drops the process's locks. A file is
moved away by renaming its path.
"""

import asyncio
import datetime as dt
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from daemon.core.errors import SchemaMismatch, StoreError
from daemon.core.ports import Clock, Emit
from daemon.memory.database import migrate, sqlite
from daemon.memory.database.driver import sqlite3

EVERY_S: Final = 15 * 60
_QUARTER_MS: Final = EVERY_S * 1000
_DAY_MS: Final = 24 * 3600 * 1000
_DAYS_KEPT: Final = 14
_PAGES: Final = 256
_ROUNDS: Final = 3  # a write during a copy starts it over; after the steps of so many rounds it is made in one step
_TIMEOUT_S: Final = 60.0
_MOST_FAULTS: Final = 10
_RETRY_S: Final = 60.0
_NAME: Final = re.compile(r"memory-(\d{8}T\d{6})\.(\d{3})Z\.db")
_PARTIAL: Final = ".partial"
COMPANIONS: Final = ("-journal", "-wal", "-shm")


@dataclass(frozen=True, slots=True)
class Backup:
    """A checked copy; `bytes` is its size on disk."""

    path: Path
    schema: int
    bytes: int


class _StartsOver(Exception):
    """Writes start the copy over too often to make it in steps."""


def folder_beside(path: Path) -> Path:
    """The folder for the copies of a memory.db: `backups` beside it."""
    return path.parent / "backups"


def back_up(path: Path, target: Path, clock: Clock, *, stopped: Callable[[], bool] = lambda: False) -> Backup:
    """Copy memory.db while it is in use; the copy appears under its name only when it is whole, checked and on disk.

    A directory as `target` gets a file named after the time. Raises StoreError when `path` does not exist, the target
    exists or can't be written, the copy fails its check, or the file is too busy to copy within a minute.
    """
    if not path.exists():
        raise StoreError(f"there is no {path} to copy", hint="set SOUL_HOME to the data folder")
    if target.is_dir():
        target = target / name_at(clock.now_ms())
    if target.exists():
        raise StoreError(f"{target} exists already", hint="choose another file name, or a folder")
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}{_PARTIAL}")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # private from the start
        _copy(path, partial, clock, stopped)
        found = verify(partial)
        sync(partial)
        partial.rename(target)
        sync(target.parent)
    except OSError as error:
        raise StoreError(
            f"{target} can't be written: {error.strerror}", hint="choose a writable folder with enough free space"
        ) from error
    finally:
        discard(partial)
    return Backup(target, found.schema, found.bytes)


def verify(path: Path) -> Backup:
    """Open a copy and check all of it. Raises SchemaMismatch, or StoreError when it is damaged, empty or missing."""
    if not path.is_file():
        raise StoreError(
            f"there is no file {path}",
            hint="give the path of a backup; the folder `backups` beside memory.db holds them",
        )
    try:
        with closing(sqlite.connect(path, read_only=True)) as connection:
            schema = sqlite.schema_version(connection)
            faults = file_faults(connection)
    except sqlite3.Error as error:
        raise StoreError(f"{path} is damaged: {error}", hint="choose another backup") from error
    if faults:
        raise StoreError(f"{path} is damaged: {'; '.join(faults)}", hint="choose another backup")
    if schema == 0:
        raise StoreError(f"{path} is empty", hint="choose another backup")
    if schema > migrate.SCHEMA:
        raise SchemaMismatch(
            f"{path} has schema {schema}, this program knows {migrate.SCHEMA}", hint="update the program first"
        )
    return Backup(path, schema, path.stat().st_size)


def file_faults(connection: sqlite3.Connection) -> list[str]:
    """The faults that SQLite finds in the whole file, in its words, at most ten of a kind. Raises sqlite3.Error."""
    faults = check_pragma(connection, "integrity_check")
    for row in connection.execute("PRAGMA foreign_key_check").fetchmany(_MOST_FAULTS):
        faults.append(f"a row of {row[0]} refers to a row of {row[2]} that is missing")
    return faults


def check_pragma(connection: sqlite3.Connection, pragma: str) -> list[str]:
    """The faults that `integrity_check` or `quick_check` reports. Raises sqlite3.Error."""
    lines = [str(row[0]) for row in connection.execute(f"PRAGMA {pragma}({_MOST_FAULTS})")]
    return [] if lines == ["ok"] else lines


def name_at(now_ms: int) -> str:
    """The name of a copy made at a time, e.g. `memory-20260131T081500.250Z.db`."""
    moment = dt.datetime.fromtimestamp(now_ms / 1000, dt.UTC)
    return f"memory-{moment:%Y%m%dT%H%M%S}.{now_ms % 1000:03d}Z.db"


def made_at(name: str) -> int | None:
    """When the copy of this name was made, in milliseconds; None for any other name."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    with suppress(ValueError):
        moment = dt.datetime.strptime(f"{found[1]}+0000", "%Y%m%dT%H%M%S%z")
        return int(moment.timestamp()) * 1000 + int(found[2])
    return None


def rotate(directory: Path, now_ms: int) -> tuple[Path, ...]:
    """Delete old copies and the temporary files of interrupted ones; returns the deleted paths.

    The newest copy of each quarter of an hour of the last day stays, and the newest of each of the last 14 days (UTC).
    """
    made = {path: moment for path in directory.iterdir() if (moment := made_at(path.name)) is not None}
    kept = set(_newest_of_each(made, lambda moment: moment // _QUARTER_MS, since=now_ms - _DAY_MS))
    days = {moment // _DAY_MS for moment in made.values()}
    first = sorted(days)[-_DAYS_KEPT:][0] * _DAY_MS if days else 0
    kept |= set(_newest_of_each(made, lambda moment: moment // _DAY_MS, since=first))
    gone = [path for path in made if path not in kept]
    gone += [path for path in directory.glob(f".memory-*{_PARTIAL}*") if _is_left_over(path, now_ms)]
    for path in gone:
        path.unlink(missing_ok=True)
    return tuple(sorted(gone))


async def back_up_periodically(path: Path, directory: Path, clock: Clock, emit: Emit) -> None:
    """Make a checked copy every quarter of an hour after the newest one, until cancelled.

    A failure emits `backup.failed` and is retried after a minute. Of several daemons on one file the first one copies.
    """
    stop = threading.Event()
    try:
        while True:
            await clock.sleep(_seconds_until_due(directory, clock.now_ms()))
            if _seconds_until_due(directory, clock.now_ms()) > 0:
                continue  # another daemon was first
            try:
                made, gone = await asyncio.to_thread(_make_one, path, directory, clock, stop)
            except StoreError as error:
                emit("backup.failed", reason=error.message, hint=error.hint)
                await clock.sleep(_RETRY_S)
            else:
                emit("backup.made", file=made.path.name, bytes=made.bytes, rotated=len(gone))
    finally:
        stop.set()  # a running copy ends with its next step


def _make_one(path: Path, directory: Path, clock: Clock, stop: threading.Event) -> tuple[Backup, tuple[Path, ...]]:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = back_up(path, directory, clock, stopped=stop.is_set)
        return made, rotate(directory, clock.now_ms())
    except OSError as error:
        raise StoreError(
            f"{directory} can't be used: {error.strerror}",
            hint="check its owner, its mode and the free space on the disk",
        ) from error


def newest_copy(directory: Path, now_ms: int) -> int | None:
    """When the newest copy in a folder was made, in milliseconds, ignoring copies from the future; None without one."""
    names = [path.name for path in directory.iterdir()] if directory.is_dir() else []
    return max((moment for name in names if (moment := made_at(name)) is not None and moment <= now_ms), default=None)


def _seconds_until_due(directory: Path, now_ms: int) -> float:
    return max(0.0, ((newest_copy(directory, now_ms) or 0) + _QUARTER_MS - now_ms) / 1000)


def _newest_of_each(made: dict[Path, int], slot: Callable[[int], int], *, since: int) -> Iterable[Path]:
    newest: dict[int, Path] = {}
    for path, moment in sorted(made.items(), key=lambda item: item[1]):
        if moment >= since:
            newest[slot(moment)] = path
    return newest.values()


def _is_left_over(path: Path, now_ms: int) -> bool:
    """Whether an unfinished copy is older than any copy takes."""
    try:
        return path.stat().st_mtime * 1000 < now_ms - _QUARTER_MS
    except FileNotFoundError:
        return False


def _copy(path: Path, target: Path, clock: Clock, stopped: Callable[[], bool]) -> None:
    """Copy page by page; the copy is one file without a write-ahead log, also when the original has one."""
    deadline, steps = clock.monotonic() + _TIMEOUT_S, 0

    def watch(_status: int, _remaining: int, _total: int) -> None:
        if stopped() or clock.monotonic() > deadline:
            raise StoreError("the copy was not finished", hint="try again when the daemon writes less")

    def watch_for_restarts(status: int, remaining: int, total: int) -> None:
        nonlocal steps
        watch(status, remaining, total)
        steps += 1
        if steps > _ROUNDS * (total // _PAGES + 1):
            raise _StartsOver

    try:
        # Opened for writing, because only then can SQLite roll back what a killed process left half written.
        with closing(sqlite.connect(path)) as source, closing(sqlite3.connect(target, isolation_level=None)) as copy:
            if sqlite.journal_mode(source) == "wal":
                source.execute("BEGIN")  # one snapshot, so that writers do not wait and the copy does not start over
                source.execute("PRAGMA user_version").fetchone()
            try:
                source.backup(copy, pages=_PAGES, progress=watch_for_restarts, sleep=0.01)
            except _StartsOver:
                source.backup(copy, pages=-1, progress=watch, sleep=0.01)
            copy.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        raise sqlite.translate(error) from error


def discard(path: Path) -> None:
    """Delete a database that is not in use, and its journals, as far as they exist."""
    for suffix in ("", *COMPANIONS):
        with suppress(OSError):
            path.with_name(path.name + suffix).unlink()


def sync(path: Path) -> None:
    """Flush a file, or the names in a directory, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
