"""The common part of the queues and the knowledge that one worker reads and writes."""

from collections.abc import Awaitable, Callable

from daemon.core.errors import StoreError
from daemon.core.last_line import in_short
from daemon.core.ports.services import Clock
from daemon.memory.database import Database, Transaction, Unit
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.records import Worker

_Due = Callable[[Transaction], Awaitable[list[sqlite3.Row]]]
_Move = Callable[[Transaction, sqlite3.Row], Awaitable[bool]]
_CountFault = Callable[[Transaction, sqlite3.Row, str], Awaitable[None]]


class WorkerStore:
    """The database, the clock and the worker. A subclass adds the statements."""

    def __init__(self, database: Database, clock: Clock, worker: Worker) -> None:
        self._database = database
        self._clock = clock
        self._worker = worker

    async def _due_ms(self, sql: str) -> int | None:
        row = await self._database.one(sql, **self._worker.scope)
        return row["due"] if row else None

    async def _move_all(self, due: _Due, move: _Move, count_fault: _CountFault) -> int:
        """Move all due rows in one transaction, and return their number.

        After an error move each row alone, count failing ones, and raise the error.
        """

        async def unit(transaction: Transaction) -> int:
            return sum([await move(transaction, row) for row in await due(transaction)])

        try:
            return await self._database.write(unit)
        except StoreError:
            raise
        except Exception:
            await self._move_each(due, move, count_fault)
            raise

    async def _move_each(self, due: _Due, move: _Move, count_fault: _CountFault) -> None:
        """Move each due row in its own transaction, and count failing ones. Raises StoreError only."""
        for row in await self._database.read(due):
            try:
                await self._database.write(_alone(move, row))
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001 - one failing row must not stop the others
                await self._database.write(_counted(count_fault, row, in_short(error)))


def _alone(move: _Move, row: sqlite3.Row) -> Unit[bool]:
    async def unit(transaction: Transaction) -> bool:
        return await move(transaction, row)

    return unit


def _counted(count_fault: _CountFault, row: sqlite3.Row, reason: str) -> Unit[None]:
    async def unit(transaction: Transaction) -> None:
        await count_fault(transaction, row, reason)

    return unit
