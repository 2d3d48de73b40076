"""A single queued writer and a few readers on memory.db.

A write is a short unit of work. Units that wait at the same moment share one transaction, each under its own savepoint:
a burst costs one sync. A call returns only after the commit. A batch runs in the writer's thread from BEGIN to COMMIT:
a busy event loop doesn't prolong it, and a unit can await only its transaction.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from daemon.core.concurrency import alongside, in_background
from daemon.core.errors import SchemaMismatch, StoreBusy, StoreDamaged, StoreError
from daemon.core.ports.services import Clock
from daemon.memory.database import schema, sqlite
from daemon.memory.database.process_locks import ProcessLocks
from daemon.memory.database.sqlite import Transaction, Unit, one_of, run_unit, sqlite3
from daemon.memory.database.work_thread import WorkThread, copy_pages, pause_between

__all__ = ["Database", "Transaction", "Unit", "one_of", "open_database"]

T = TypeVar("T")

BATCH = 64  # units that may share one transaction; keeps the write lock short
_LONGEST_BATCH_S = 0.02  # seconds after which the rest of a batch gets its own transaction
_READERS = 2
_READ_BUDGET_S = 0.5  # a longer read is ended: it keeps COMMIT out in a rollback journal, and makes a WAL grow
_AFTER_LONG_READ_S = 0.2  # commits go first before such a read is tried again
_BUSY_MS = 50  # SQLite's own wait, which starves late writers; `_retrying` waits at random on top of it
_OF_ONE_UNIT = (
    sqlite3.IntegrityError,
    sqlite3.ProgrammingError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.NotSupportedError,
)  # errors of one statement; any other concerns the disk or the file and undoes the whole batch


@dataclass(slots=True)
class _Job(Generic[T]):
    unit: Unit[T]
    deadline: float
    passing: bool
    done: asyncio.Future[T] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def resolve(self, value: T) -> None:
        if not self.done.done():  # cancelled together with its caller
            self.done.set_result(value)

    def fail(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)


@dataclass(slots=True)
class _Batch:
    """The units that share a transaction. `answers` call back the units that ran, the others wait in `left`."""

    jobs: list[_Job[object]]
    left: list[_Job[object]] = field(default_factory=list)
    answers: list[Callable[[], None]] = field(default_factory=list)
    begun: bool = False
    committed: bool = False


class Database:
    """The reader and writer of memory.db, made by `open_database`. `processes` shows which processes are alive."""

    def __init__(self, path: Path, clock: Clock, writer: WorkThread, readers: Iterable[WorkThread]) -> None:
        self.path = path
        self.processes = ProcessLocks(path)
        self._clock = clock
        self._writer = writer
        self._readers: asyncio.Queue[WorkThread] = asyncio.Queue()
        for reader in readers:
            self._readers.put_nowait(reader)
        self._waiting: asyncio.Queue[_Job[object] | None] = asyncio.Queue()  # None asks the writer to stop
        self._ended = asyncio.Event()
        self._mismatch: SchemaMismatch | None = None
        self._outdated = asyncio.Event()
        self._lasting_changes = 0

    async def live_as_long_as_the_schema(self) -> None:
        """Wait until a newer program has migrated the file, then raise SchemaMismatch."""
        await self._outdated.wait()
        assert self._mismatch is not None  # set together
        raise self._mismatch

    async def write(self, unit: Unit[T], *, within: float = 5.0, passing: bool = False) -> T:
        """Run a unit of work and return its value once it is durable.

        `passing`: the change is soon out of date and worth no backup, like a heartbeat. If the unit raises, nothing is
        stored and its error is raised. Raises StoreBusy after `within` seconds, StoreFull, or SchemaMismatch if a newer
        program has migrated the file. A unit may still commit when its caller is cancelled, or when the disk fails
        during the commit and StoreError is raised.
        """
        if self._ended.is_set():
            raise StoreError("memory.db is closed", hint="the daemon is stopping; start it again")
        job = _Job(unit, self._clock.monotonic() + within, passing)
        self._waiting.put_nowait(job)  # type: ignore[arg-type]  # the queue holds jobs of every value type
        return await job.done

    async def read(self, unit: Unit[T], *, within: float = 5.0) -> T:
        """Run a unit of reads on one consistent snapshot. Raises StoreBusy after `within` seconds, or StoreError.

        A read longer than half a second is ended and retried until its time is up, because it delays commits. Split
        longer reads into several units.
        """
        deadline = self._clock.monotonic() + within
        connection = await self._readers.get()
        try:
            return await self._retrying(deadline, lambda: connection.run_read(partial(_read_once, unit)))
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                await self._refuse_newer_schema(connection)
            raise sqlite.translate(error) from error
        finally:
            self._readers.put_nowait(connection)

    async def rows(self, sql: str, **values: object) -> list[sqlite3.Row]:
        """Read with one statement on its own snapshot. Raises as `read` does."""
        return await self.read(lambda transaction: transaction.rows(sql, **values))

    async def one(self, sql: str, **values: object) -> sqlite3.Row | None:
        """Read the first row of one statement, if any. Raises as `read` does."""
        return await self.read(lambda transaction: transaction.one(sql, **values))

    async def run(self, sql: str, **values: object) -> list[sqlite3.Row]:
        """Write with one statement and give the rows that it returns. Raises as `write` does."""
        return await self.write(lambda transaction: transaction.rows(sql, **values))

    async def run_writer(self) -> None:
        """Run the queued units until `stop` is called or the task is cancelled. Called by `open_database`."""
        left: list[_Job[object]] = []
        try:
            while (batch := await self._next_batch(left)) is not None:
                left = await self._commit(batch)
        finally:
            self._ended.set()
            self._fail_queued()

    async def stop(self) -> None:
        """Refuse new units, and wait until all queued ones are committed."""
        self._waiting.put_nowait(None)
        await self._ended.wait()

    async def copy_to(self, target: Path, stopped: Callable[[], bool] = lambda: False) -> None:
        """Copy the file in short steps between units, without check or sync. Raises StoreError."""
        try:
            if await self.in_wal_mode():
                await in_background(partial(self._copy_snapshot, target, stopped))
            else:
                await self._writer.copy_to(target, stopped)
        except sqlite3.Error as error:
            raise sqlite.translate(error) from error

    async def in_wal_mode(self) -> bool:
        return await self._writer.run(sqlite.journal_mode) == "wal"

    async def fingerprint(self) -> tuple[int, int]:
        """Return a value that changes when this or another process stores anything lasting."""
        return self._lasting_changes, await self.version_of_others()

    async def version_of_others(self) -> int:
        """Return SQLite's data version, which changes only with other processes' commits. Raises StoreError."""
        try:
            return await self._writer.run(_data_version)
        except sqlite3.Error as error:
            raise sqlite.translate(error) from error

    async def checkpoint(self, *, whole: bool) -> int:
        """Move the write-ahead log into the file as far as readers allow, and return the bytes left in the log.

        `whole` waits a moment for readers and then empties the log: 0 means that no old page is left in it. Raises
        StoreError.
        """
        how = "TRUNCATE" if whole else "PASSIVE"
        try:
            return await self._writer.run(partial(sqlite.checkpoint, how=how))
        except sqlite3.Error as error:
            raise sqlite.translate(error) from error

    async def _next_batch(self, left: list[_Job[object]]) -> list[_Job[object]] | None:
        """Return the rest of the batch before, or all waiting units, once there is one. Return None to stop."""
        batch = list(left)
        if not batch:
            if (first := await self._waiting.get()) is None:
                return None
            batch.append(first)
        while len(batch) < BATCH and not self._waiting.empty():
            if (job := self._waiting.get_nowait()) is None:
                self._waiting.put_nowait(None)
                break
            batch.append(job)
        return batch

    def _fail_queued(self) -> None:
        while not self._waiting.empty():
            if (job := self._waiting.get_nowait()) is not None:
                job.fail(StoreError("memory.db is closed", hint="the daemon is stopping; start it again"))

    async def _commit(self, jobs: list[_Job[object]]) -> list[_Job[object]]:
        """Run units in one transaction, then answer their callers. Return the units that found no time."""
        batch = _Batch(jobs)
        try:
            if not await self._work_off(batch):
                return []
            if not batch.committed:
                deadline = max(job.deadline for job in batch.jobs)
                await self._retrying(deadline, lambda: self._writer.run(_commit))
        except (sqlite3.Error, StoreError) as error:
            with suppress(sqlite3.Error):
                await self._writer.run(_roll_back)
            self._fail(batch.jobs, error)
            return batch.left
        except BaseException:  # cancelled, or a bug: it is not known whether the units are stored
            for job in (*batch.jobs, *batch.left):
                job.fail(StoreBusy("the daemon is stopping"))
            raise
        for answer in batch.answers:
            answer()
        self._lasting_changes += any(not job.passing for job in batch.jobs)
        return batch.left

    def _fail(self, jobs: Iterable[_Job[object]], error: sqlite3.Error | StoreError) -> None:
        if isinstance(error, SchemaMismatch):
            error = self._outdate(error)
        for job in jobs:
            job.fail(sqlite.translate(error) if isinstance(error, sqlite3.Error) else error)

    async def _work_off(self, batch: _Batch) -> bool:
        """Take the write lock and run the units. Return False if each caller was cancelled or is past its deadline."""
        while jobs := [job for job in batch.jobs if not job.done.done()]:
            batch.jobs = jobs
            deadline = min(job.deadline for job in jobs)
            try:
                await self._retrying(deadline, lambda: self._writer.run(partial(_run_batch, batch, self._clock)))
            except StoreBusy as busy:
                if batch.begun:
                    raise
                for job in jobs:
                    if job.deadline <= deadline:
                        job.fail(busy)
            else:
                return True
        return False

    async def _refuse_newer_schema(self, connection: WorkThread) -> None:
        """Raise SchemaMismatch if a failed read can be explained by a newer schema."""
        try:
            await connection.run(_require_current)
        except SchemaMismatch as mismatch:
            raise self._outdate(mismatch) from None

    def _outdate(self, mismatch: SchemaMismatch) -> SchemaMismatch:
        self._mismatch = self._mismatch or mismatch
        self._outdated.set()
        return self._mismatch

    async def _retrying(self, deadline: float, attempt: Callable[[], Awaitable[T]]) -> T:
        """Retry while the file is locked, after small random waits. SQLite's own waits grow and starve late writers."""
        longest = 0.002
        while True:
            try:
                return await attempt()
            except sqlite3.OperationalError as error:
                too_long = isinstance(error, sqlite.ReadTooLong)
                if not too_long and not sqlite.is_busy(error):
                    raise
                if self._clock.monotonic() >= deadline:
                    raise sqlite.translate(error) from error
            await self._clock.sleep(
                _AFTER_LONG_READ_S if too_long else random.uniform(0.0005, longest)  # noqa: S311 - jitter, not a secret
            )
            longest = min(0.02, longest * 1.5)

    def _copy_snapshot(self, target: Path, stopped: Callable[[], bool]) -> None:
        with closing(sqlite.connect(self.path)) as source:
            copy_pages(source, target, pause_between(self._clock), stopped)


def _require_current(connection: sqlite3.Connection) -> None:
    schema.require_current(int(connection.execute("PRAGMA user_version").fetchone()[0]))


def _run_batch(batch: _Batch, clock: Clock, connection: sqlite3.Connection) -> None:
    """Run units in one transaction, each under its own savepoint, and commit unless a reader blocks COMMIT.

    Raises sqlite3.OperationalError while the file is locked, before anything ran. Raises StoreError or sqlite3.Error if
    the whole batch must be undone.
    """
    connection.execute("BEGIN IMMEDIATE")
    batch.begun = True
    began = clock.monotonic()
    _require_current(connection)
    try:
        for number, job in enumerate(batch.jobs):
            if number and clock.monotonic() - began > _LONGEST_BATCH_S:
                batch.left, batch.jobs = batch.jobs[number:], batch.jobs[:number]
                break
            batch.answers.append(_run_under_savepoint(connection, job))
    except sqlite3.OperationalError as error:
        raise sqlite.translate(error) from error  # not the lock that BEGIN waits for
    try:
        _commit(connection)
    except sqlite3.OperationalError as error:
        if not sqlite.is_busy(error):
            raise
    else:
        batch.committed = True


def _run_under_savepoint(connection: sqlite3.Connection, job: _Job[object]) -> Callable[[], None]:
    """Run one unit, and undo it alone if it fails. Return the call that gives its caller the value or error."""
    connection.execute("SAVEPOINT unit")
    answer: Callable[[], None]
    try:
        answer = partial(job.resolve, run_unit(job.unit, connection))
    except Exception as error:  # the error of a unit belongs to its caller, not to the writer
        if isinstance(error, sqlite3.Error) and not isinstance(error, _OF_ONE_UNIT):
            raise
        answer = partial(job.fail, error)
        connection.execute("ROLLBACK TO unit")
    connection.execute("RELEASE unit")
    return answer


def _data_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def _commit(connection: sqlite3.Connection) -> None:
    connection.execute("COMMIT")


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:  # SQLite rolls back by itself after some errors
        connection.execute("ROLLBACK")


def _read_once(unit: Unit[T], connection: sqlite3.Connection) -> T:
    connection.execute("BEGIN")
    try:
        return run_unit(unit, connection)
    finally:
        _roll_back(connection)


def _require_sound(path: Path) -> None:
    """Raise StoreDamaged if a quick check finds a fault. Each backup gets the full check."""
    try:
        with closing(sqlite.connect(path)) as connection:
            faults = sqlite.look_over(connection)
    except sqlite3.Error as error:
        raise sqlite.translate(error) from error
    if faults:
        raise StoreDamaged(f"memory.db is damaged: {'; '.join(faults)}", hint=sqlite.RESTORE)


@asynccontextmanager
async def open_database(path: Path, clock: Clock, *, create: bool = True) -> AsyncIterator[Database]:
    """Open memory.db, after creating or migrating it if `create`, and close all connections at exit.

    With `create`, its structure gets a quick check. Raises SchemaMismatch, StoreDamaged or StoreError with a hint.
    """
    if create:
        await asyncio.to_thread(schema.migrate, path)
        await asyncio.to_thread(_require_sound, path)
    else:
        schema.require_current(await asyncio.to_thread(schema.version_of, path))
    async with AsyncExitStack() as closed, AsyncExitStack() as stack:
        connections = []
        for number in range(1 + _READERS):
            connection = WorkThread(path, clock, busy_ms=_BUSY_MS, budget=_READ_BUDGET_S if number else 0.0)
            await connection
            stack.push_async_callback(connection.close)
            connections.append(connection)
        database = Database(path, clock, connections[0], connections[1:])
        closed.callback(database.processes.close)
        async with alongside(database.run_writer()):
            try:
                yield database
            finally:
                await database.stop()
