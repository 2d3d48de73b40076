"""One writer with a queue and a few readers on memory.db; a write is a short unit of work, grouped with others.

Units that wait at the same moment share one transaction, each under its own savepoint, so that a burst pays for one
sync instead of many. A call returns only after the commit. A unit awaits nothing but its transaction: a model, the
network or a file would hold the write lock against all other writers.
"""

import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import aiosqlite

from daemon.core.concurrency import alongside
from daemon.core.errors import SchemaMismatch, StoreBusy, StoreError
from daemon.core.ports import Clock
from daemon.core.text import storable
from daemon.memory.database import migrate, sqlite

T = TypeVar("T")
Unit = Callable[["Transaction"], Awaitable[T]]

BATCH = 64  # units that may share one transaction; keeps the write lock short
_READERS = 2
_BUSY_MS = 50  # SQLite's own wait, which starves late writers; `_retrying` waits at random on top of it
_OF_ONE_UNIT = (
    sqlite3.IntegrityError,
    sqlite3.ProgrammingError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.NotSupportedError,
)  # errors of one statement; any other concerns the disk or the file and undoes the whole batch


class Transaction:
    """Runs statements inside one transaction; it fetches all rows at once, so no cursor outlives a statement."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    async def rows(self, sql: str, **values: object) -> list[sqlite3.Row]:
        """Run a statement and fetch all its rows. A lone surrogate in a text is stored as U+FFFD."""
        try:
            return list(await self._connection.execute_fetchall(sql, values))
        except UnicodeEncodeError:  # JSON can carry a lone surrogate, UTF-8 can't; the statement has not run yet
            storable = {name: _storable(value) for name, value in values.items()}
            return list(await self._connection.execute_fetchall(sql, storable))

    async def one(self, sql: str, **values: object) -> sqlite3.Row | None:
        """Run a statement and fetch its first row, if any."""
        rows = await self.rows(sql, **values)
        return rows[0] if rows else None

    async def run(self, sql: str, **values: object) -> None:
        """Run a statement for its effect."""
        await self.rows(sql, **values)

    async def insert(self, table: str, then: str = "", /, **values: object) -> sqlite3.Row | None:
        """Insert one row; `then` may hold `ON CONFLICT` and `RETURNING` clauses, whose row is returned.

        Table, column names and `then` become part of the statement: they are literals of this package, never input.
        """
        columns, placeholders = ", ".join(values), ", ".join(f":{name}" for name in values)
        return await self.one(f"INSERT INTO {table} ({columns}) VALUES ({placeholders}) {then}", **values)  # noqa: S608


def _storable(value: object) -> object:
    return storable(value) if isinstance(value, str) else value


@dataclass(slots=True)
class _Job(Generic[T]):
    unit: Unit[T]
    deadline: float
    done: asyncio.Future[T] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def resolve(self, value: T) -> None:
        if not self.done.done():  # cancelled together with its caller
            self.done.set_result(value)

    def fail(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class Database:
    """Reads and writes memory.db; `open_database` makes one."""

    def __init__(
        self, path: Path, clock: Clock, writer: aiosqlite.Connection, readers: list[aiosqlite.Connection]
    ) -> None:
        self.path = path
        self._clock = clock
        self._writer = writer
        self._readers: asyncio.Queue[aiosqlite.Connection] = asyncio.Queue()
        for reader in readers:
            self._readers.put_nowait(reader)
        self._waiting: asyncio.Queue[_Job[object] | None] = asyncio.Queue()  # None asks the writer to stop
        self._ended = asyncio.Event()
        self._mismatch: SchemaMismatch | None = None
        self._outdated = asyncio.Event()

    async def live_as_long_as_the_schema(self) -> None:
        """Wait until a newer program has migrated the file. Raises SchemaMismatch then: this one can do no more."""
        await self._outdated.wait()
        assert self._mismatch is not None  # set together
        raise self._mismatch

    async def write(self, unit: Unit[T], *, within: float = 5.0) -> T:
        """Run a unit of work and return its value once it is durable.

        Raises what the unit raises and then stores nothing of it; StoreBusy after `within` seconds; StoreFull; or
        SchemaMismatch when a newer program has migrated the file meanwhile. A unit may still commit when its caller is
        cancelled, or when the disk fails during the commit and StoreError is raised.
        """
        if self._ended.is_set():
            raise StoreError("memory.db is closed", hint="the daemon is stopping; start it again")
        job = _Job(unit, self._clock.monotonic() + within)
        self._waiting.put_nowait(job)  # type: ignore[arg-type]  # the queue holds jobs of every value type
        return await job.done

    async def read(self, unit: Unit[T], *, within: float = 5.0) -> T:
        """Run a unit of reads on one consistent snapshot. Raises StoreBusy after `within` seconds, or StoreError."""
        deadline = self._clock.monotonic() + within
        connection = await self._readers.get()
        try:
            return await self._retrying(deadline, lambda: self._read_once(connection, unit))
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                await self._refuse_newer_schema(connection)
            raise sqlite.translate(error) from error
        finally:
            self._readers.put_nowait(connection)

    async def rows(self, sql: str, **values: object) -> list[sqlite3.Row]:
        """Read with one statement, on a snapshot of its own. Raises as `read` does."""
        return await self.read(lambda transaction: transaction.rows(sql, **values))

    async def one(self, sql: str, **values: object) -> sqlite3.Row | None:
        """Read the first row of one statement, if any. Raises as `read` does."""
        return await self.read(lambda transaction: transaction.one(sql, **values))

    async def run(self, sql: str, **values: object) -> list[sqlite3.Row]:
        """Write with one statement and give the rows that it returns. Raises as `write` does."""
        return await self.write(lambda transaction: transaction.rows(sql, **values))

    async def _read_once(self, connection: aiosqlite.Connection, unit: Unit[T]) -> T:
        try:
            await connection.execute_fetchall("BEGIN")
            return await unit(Transaction(connection))
        finally:  # a cancelled BEGIN runs all the same, and a reader must not go back to the queue with a snapshot
            with suppress(sqlite3.OperationalError):  # no transaction was begun
                await connection.execute_fetchall("ROLLBACK")

    async def run_writer(self) -> None:
        """Run the queued units until `stop` is called or the task is cancelled; `open_database` starts it."""
        try:
            while (first := await self._waiting.get()) is not None:
                batch = [first]
                while len(batch) < BATCH and not self._waiting.empty():
                    if (job := self._waiting.get_nowait()) is None:
                        self._waiting.put_nowait(None)
                        break
                    batch.append(job)
                await self._commit(batch)
        finally:
            self._ended.set()
            self._fail_queued()

    async def stop(self) -> None:
        """Refuse new units, and wait until all queued ones are committed."""
        self._waiting.put_nowait(None)
        await self._ended.wait()

    def _fail_queued(self) -> None:
        while not self._waiting.empty():
            if (job := self._waiting.get_nowait()) is not None:
                job.fail(StoreError("memory.db is closed", hint="the daemon is stopping; start it again"))

    async def _commit(self, batch: list[_Job[object]]) -> None:
        """Run the units of a batch in one transaction; their callers get values or errors only after its end."""
        try:
            batch = await self._begin(batch)
            if not batch:
                return
            await self._refuse_newer_schema(self._writer)
            answers = [await self._run_under_savepoint(job) for job in batch]
            deadline = max(job.deadline for job in batch)
            await self._retrying(deadline, lambda: self._writer.execute_fetchall("COMMIT"))
        except (sqlite3.Error, StoreError) as error:
            await self._rollback()
            for job in batch:
                job.fail(sqlite.translate(error) if isinstance(error, sqlite3.Error) else error)
        except BaseException:  # cancelled, or a bug: it is not known whether the units are stored
            for job in batch:
                job.fail(StoreBusy("the daemon is stopping"))
            raise
        else:
            for answer in answers:
                answer()

    async def _begin(self, batch: list[_Job[object]]) -> list[_Job[object]]:
        """Take the write lock; return the jobs that are neither cancelled nor past their deadline."""
        while batch := [job for job in batch if not job.done.done()]:
            deadline = min(job.deadline for job in batch)
            try:
                await self._retrying(deadline, lambda: self._writer.execute_fetchall("BEGIN IMMEDIATE"))
            except StoreBusy as busy:
                for job in batch:
                    if job.deadline <= deadline:
                        job.fail(busy)
            else:
                break
        return batch

    async def _run_under_savepoint(self, job: _Job[object]) -> Callable[[], None]:
        """Run one unit and undo it alone when it fails; returns the call that hands its caller the value or error."""
        await self._writer.execute_fetchall("SAVEPOINT unit")
        answer: Callable[[], None]
        try:
            answer = partial(job.resolve, await job.unit(Transaction(self._writer)))
        except Exception as error:  # the error of a unit belongs to its caller, not to the writer
            if isinstance(error, sqlite3.Error) and not isinstance(error, _OF_ONE_UNIT):
                raise
            answer = partial(job.fail, error)
            await self._writer.execute_fetchall("ROLLBACK TO unit")
        await self._writer.execute_fetchall("RELEASE unit")
        return answer

    async def _refuse_newer_schema(self, connection: aiosqlite.Connection) -> None:
        """Asked before each write, and after a read that failed, perhaps for a table that is no more."""
        rows = list(await connection.execute_fetchall("PRAGMA user_version"))
        try:
            migrate.require_current(int(rows[0][0]))
        except SchemaMismatch as mismatch:
            self._mismatch = mismatch
            self._outdated.set()
            raise

    async def _rollback(self) -> None:
        with suppress(sqlite3.Error):  # SQLite rolls back by itself after some errors
            await self._writer.execute_fetchall("ROLLBACK")

    async def _retrying(self, deadline: float, attempt: Callable[[], Awaitable[T]]) -> T:
        """Retry while the file is locked, after small random waits; SQLite's own growing ones starve late writers."""
        longest = 0.002
        while True:
            try:
                return await attempt()
            except sqlite3.OperationalError as error:
                if not sqlite.is_busy(error):
                    raise
                if self._clock.monotonic() >= deadline:
                    raise sqlite.translate(error) from error
            await self._clock.sleep(random.uniform(0.0005, longest))  # noqa: S311 - jitter, not a secret
            longest = min(0.02, longest * 1.5)


@asynccontextmanager
async def open_database(path: Path, clock: Clock, *, create: bool = True) -> AsyncIterator[Database]:
    """Open memory.db, creating or migrating it first when `create` is set; closes every connection on the way out.

    Raises SchemaMismatch or StoreError with a hint.
    """
    if create:
        await asyncio.to_thread(migrate.migrate, path)
    else:
        migrate.require_current(await asyncio.to_thread(migrate.version_of, path))
    async with AsyncExitStack() as stack:
        connections = []
        for _ in range(1 + _READERS):
            connection = await aiosqlite.Connection(partial(_connect, path), 64)
            stack.push_async_callback(connection.close)
            connections.append(connection)
        database = Database(path, clock, connections[0], connections[1:])
        async with alongside(database.run_writer()):
            try:
                yield database
            finally:
                await database.stop()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite.connect(path)
    connection.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
    return connection
