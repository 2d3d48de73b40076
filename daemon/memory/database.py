"""One writer with a queue and a few readers on memory.db; a write is a short unit of work, grouped with others.

Units that wait at the same moment share one transaction, each under its own savepoint, so that a burst pays for one
sync instead of many. A caller is answered only after the commit. Units must await nothing but their transaction: no
model, network or file inside (design, section 6).
"""

import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import aiosqlite

from daemon.concurrency import alongside
from daemon.errors import SchemaMismatch, StoreBusy
from daemon.memory import migrate, sqlite
from daemon.ports import Clock

T = TypeVar("T")
Unit = Callable[["Transaction"], Awaitable[T]]

BATCH = 64  # units that may share one transaction; keeps the write lock short
_READERS = 2


class Transaction:
    """A handle for statements inside one transaction; rows come back whole, so no cursor outlives a statement."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    async def rows(self, sql: str, **values: object) -> list[sqlite3.Row]:
        """Run a statement and fetch all its rows."""
        return list(await self._connection.execute_fetchall(sql, values))

    async def one(self, sql: str, **values: object) -> sqlite3.Row | None:
        """Run a statement and fetch its first row, if any."""
        found = await self.rows(sql, **values)
        return found[0] if found else None

    async def run(self, sql: str, **values: object) -> None:
        """Run a statement for its effect."""
        await self._connection.execute_fetchall(sql, values)


@dataclass(slots=True)
class _Job(Generic[T]):
    unit: Unit[T]
    deadline: float
    done: asyncio.Future[T] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def resolve(self, value: T) -> None:
        if not self.done.done():  # the caller may have been cancelled meanwhile
            self.done.set_result(value)

    def fail(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class Database:
    """memory.db as the rest of the house sees it; see `open_database`."""

    def __init__(
        self, path: Path, clock: Clock, writer: aiosqlite.Connection, readers: list[aiosqlite.Connection]
    ) -> None:
        self.path = path
        self._clock = clock
        self._writer = writer
        self._readers: asyncio.Queue[aiosqlite.Connection] = asyncio.Queue()
        for reader in readers:
            self._readers.put_nowait(reader)
        self._waiting: asyncio.Queue[_Job[object]] = asyncio.Queue()

    async def write(self, unit: Unit[T], *, within: float = 5.0) -> T:
        """Run a unit of work and return its value once it is durable.

        Raises what the unit raises (nothing of it is stored then), StoreBusy after `within` seconds, StoreFull, or
        SchemaMismatch when a newer program has migrated the file meanwhile. A cancelled caller's unit may still commit.
        """
        job = _Job(unit, self._clock.monotonic() + within)
        self._waiting.put_nowait(job)  # type: ignore[arg-type]  # the queue holds jobs of every value type
        return await job.done

    async def read(self, unit: Unit[T], *, within: float = 5.0) -> T:
        """Run a unit of reads on one consistent snapshot. Raises StoreBusy after `within` seconds."""
        deadline = self._clock.monotonic() + within
        connection = await self._readers.get()
        try:
            return await self._retrying(deadline, lambda: self._read_once(connection, unit))
        finally:
            self._readers.put_nowait(connection)

    async def _read_once(self, connection: aiosqlite.Connection, unit: Unit[T]) -> T:
        await connection.execute_fetchall("BEGIN")
        try:
            return await unit(Transaction(connection))
        finally:
            await connection.execute_fetchall("ROLLBACK")

    async def run_writer(self) -> None:
        """Serve the queue until cancelled; `open_database` runs it."""
        while True:
            batch = [await self._waiting.get()]
            while len(batch) < BATCH and not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            try:
                await self._commit(batch)
            except BaseException as error:
                for job in batch:
                    job.fail(
                        StoreBusy("the daemon is stopping") if isinstance(error, asyncio.CancelledError) else error
                    )
                raise

    async def _commit(self, batch: list[_Job[object]]) -> None:
        deadline = max(job.deadline for job in batch)
        values: list[tuple[_Job[object], object]] = []
        try:
            await self._retrying(deadline, lambda: self._writer.execute_fetchall("BEGIN IMMEDIATE"))
            await self._refuse_newer_schema()
            for job in batch:
                with suppress(_Failed):
                    values.append((job, await self._run_under_savepoint(job)))
            await self._retrying(deadline, lambda: self._writer.execute_fetchall("COMMIT"))
        except (sqlite3.Error, StoreBusy, SchemaMismatch) as error:
            await self._rollback()
            for job in batch:
                job.fail(sqlite.translate(error) if isinstance(error, sqlite3.Error) else error)
            return
        for job, value in values:
            job.resolve(value)

    async def _run_under_savepoint(self, job: _Job[object]) -> object:
        await self._writer.execute_fetchall("SAVEPOINT unit")
        try:
            value = await job.unit(Transaction(self._writer))
        except sqlite3.Error as error:
            if not isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
                raise  # the disk or the file: the whole batch is lost with it
            job.fail(error)
        except Exception as error:  # noqa: BLE001 - whatever a unit raises belongs to its caller, not to the writer
            job.fail(error)
        else:
            await self._writer.execute_fetchall("RELEASE unit")
            return value
        await self._writer.execute_fetchall("ROLLBACK TO unit")
        await self._writer.execute_fetchall("RELEASE unit")
        raise _Failed

    async def _refuse_newer_schema(self) -> None:
        rows = list(await self._writer.execute_fetchall("PRAGMA user_version"))
        migrate.require_current(int(rows[0][0]))

    async def _rollback(self) -> None:
        with suppress(sqlite3.Error):  # SQLite rolls back by itself after some errors
            await self._writer.execute_fetchall("ROLLBACK")

    async def _retrying(self, deadline: float, attempt: Callable[[], Awaitable[T]]) -> T:
        """Our own fair retry: small random waits instead of SQLite's growing ones, which starve a late comer."""
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


class _Failed(Exception):
    """A unit failed and was undone; its caller has been told."""


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
            connection = await aiosqlite.Connection(lambda: sqlite.connect(path), 64)
            stack.push_async_callback(connection.close)
            connections.append(connection)
        database = Database(path, clock, connections[0], connections[1:])
        async with alongside(database.run_writer()):
            yield database
