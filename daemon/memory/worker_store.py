"""The common part of the queues and the knowledge that one worker reads and writes."""

import sqlite3
from collections.abc import Awaitable, Callable
from functools import partial

from daemon.core.errors import StoreError
from daemon.core.last_line import in_short
from daemon.core.ports import Clock
from daemon.memory.database import Database, Transaction
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

    async def _move_due(
        self,
        due: Callable[[Transaction], Awaitable[list[sqlite3.Row]]],
        move: Callable[[Transaction, sqlite3.Row], Awaitable[bool]],
        count_fault: Callable[[Transaction, sqlite3.Row, str], Awaitable[None]],
    ) -> int:
        """Move the due rows in one transaction, or each in its own when one of them can't be moved.

        Returns how many were moved. A row that can't be moved alone either is counted, and its error raised after all
        others are moved.
        """

        async def together(transaction: Transaction) -> int:
            return sum([await move(transaction, row) for row in await due(transaction)])

        failure: Exception | None = None
        try:
            return await self._database.write(together)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - one of them; which one shows when each is moved alone
            failure = error
        for row in await self._database.read(due):
            try:
                await self._database.write(partial(_moved_alone, move=move, row=row))
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001 - counted here, raised below
                failure = error
                await self._database.write(partial(_counted, count=count_fault, row=row, reason=in_short(error)))
        raise failure


async def _moved_alone(
    transaction: Transaction, *, move: Callable[[Transaction, sqlite3.Row], Awaitable[bool]], row: sqlite3.Row
) -> None:
    await move(transaction, row)


async def _counted(
    transaction: Transaction,
    *,
    count: Callable[[Transaction, sqlite3.Row, str], Awaitable[None]],
    row: sqlite3.Row,
    reason: str,
) -> None:
    await count(transaction, row, reason)
