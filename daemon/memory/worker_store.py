"""The common part of the queues and the knowledge that one worker reads and writes."""

from collections.abc import Awaitable, Callable

from daemon.core.errors import StoreError
from daemon.core.last_line import in_short
from daemon.core.ports import Clock
from daemon.memory.database import Database, Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.records import Worker


class WorkerStore:
    """Holds the database, the clock and the worker; a subclass adds the statements."""

    def __init__(self, database: Database, clock: Clock, worker: Worker) -> None:
        self._database = database
        self._clock = clock
        self._worker = worker

    async def _due_ms(self, sql: str) -> int | None:
        """The value of column `due` for the soul and workspace of the worker."""
        row = await self._database.one(sql, **self._worker.scope)
        return row["due"] if row else None

    async def _move_each(
        self,
        due: Callable[[Transaction], Awaitable[list[sqlite3.Row]]],
        move: Callable[[Transaction, sqlite3.Row], Awaitable[bool]],
        count_fault: Callable[[Transaction, sqlite3.Row, str], Awaitable[None]],
    ) -> None:
        """Move each due row in a transaction of its own, after one of them could not be moved together with the rest.

        A row that can't be moved alone either is counted. Raises StoreError alone.
        """
        for row in await self._database.read(due):
            try:
                await self._database.write(_alone(move, row))
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001 - the others are moved whatever is wrong with this one
                await self._database.write(_counted(count_fault, row, in_short(error)))


def _alone(
    move: Callable[[Transaction, sqlite3.Row], Awaitable[bool]], row: sqlite3.Row
) -> Callable[[Transaction], Awaitable[bool]]:
    async def unit(transaction: Transaction) -> bool:
        return await move(transaction, row)

    return unit


def _counted(
    count_fault: Callable[[Transaction, sqlite3.Row, str], Awaitable[None]], row: sqlite3.Row, reason: str
) -> Callable[[Transaction], Awaitable[None]]:
    async def unit(transaction: Transaction) -> None:
        await count_fault(transaction, row, reason)

    return unit
