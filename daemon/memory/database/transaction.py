"""A transaction as units of work see it: statements that run at once, in the thread that holds the connection."""

import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from daemon.core.text import storable
from daemon.memory.database.driver import sqlite3

T = TypeVar("T")
Unit = Callable[["Transaction"], Awaitable[T]]


class Transaction:
    """Runs statements inside one transaction; it fetches all rows at once, so no cursor outlives a statement."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def rows(self, sql: str, **values: object) -> list[sqlite3.Row]:
        """Run a statement and fetch all its rows. A lone surrogate in a text is stored as U+FFFD."""
        try:
            return self._connection.execute(sql, values).fetchall()
        except UnicodeEncodeError:  # JSON can carry a lone surrogate, UTF-8 can't; the statement has not run yet
            return self._connection.execute(sql, {name: _storable(value) for name, value in values.items()}).fetchall()

    async def one(self, sql: str, **values: object) -> sqlite3.Row | None:
        """Run a statement and fetch its first row, if any."""
        rows = await self.rows(sql, **values)
        return rows[0] if rows else None

    async def gathered(self, sql: str, **values: object) -> list[Any]:
        """Run a statement whose one value is an array of JSON, such as `json_group_array` gives; gives that array.

        For some hundred small rows: between rows the driver gives Python's lock away, and waits for it each time while
        another thread works.
        """
        (row,) = await self.rows(sql, **values)
        gathered: list[Any] = json.loads(row[0])
        return gathered

    async def run(self, sql: str, **values: object) -> None:
        """Run a statement for its effect."""
        await self.rows(sql, **values)

    async def run_for_each(self, sql: str, keys: Iterable[object]) -> int:
        """Run a statement once for each key, given as `:key`; returns how many rows it changed."""
        return self._connection.executemany(sql, [{"key": key} for key in keys]).rowcount

    async def insert(self, table: str, then: str = "", /, **values: object) -> sqlite3.Row | None:
        """Insert one row; `then` may hold `ON CONFLICT` and `RETURNING` clauses, whose row is returned.

        Table, column names and `then` become part of the statement: they are literals of this package, never input.
        """
        columns, placeholders = ", ".join(values), ", ".join(f":{name}" for name in values)
        return await self.one(f"INSERT INTO {table} ({columns}) VALUES ({placeholders}) {then}", **values)  # noqa: S608


def one_of(values: Iterable[object]) -> tuple[str, dict[str, object]]:
    """What stands behind `IN` for these values, and the named values themselves."""
    named = {f"one{number}": value for number, value in enumerate(values)}
    return f"({', '.join(f':{name}' for name in named)})", named


def run_unit(unit: Unit[T], connection: sqlite3.Connection) -> T:
    """Run a unit from its beginning to its end in this thread; the event loop is not asked in between.

    So a busy loop can't prolong a transaction. Raises what the unit raises, and RuntimeError when it awaits anything
    but its transaction: a model, the network or a file would hold the lock against all other writers.
    """
    steps = unit(Transaction(connection)).__await__()
    try:
        next(steps)
    except StopIteration as end:
        value: T = end.value
        return value
    close = getattr(steps, "close", None)
    if close is not None:
        close()
    raise RuntimeError("a unit of work may await nothing but its transaction")


def _storable(value: object) -> object:
    return storable(value) if isinstance(value, str) else value
