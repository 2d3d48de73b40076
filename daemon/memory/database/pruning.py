"""Deletes old records of how work went: never messages, notes, or rows that still wait."""

from daemon.core.errors import StoreError
from daemon.core.ports import Clock, Emit
from daemon.memory.database import Database

_EVERY_S = 6 * 3600.0
_AT_ONCE = 500  # rows in one transaction, which has to be short
_DAY_MS = 86_400_000

_OLD = {
    "transitions": "at_ms < :before",
    "intentions": "state <> 'waiting' AND coalesce(settled_ms, created_ms) < :before AND every = ''",
    "approvals": "state NOT IN ('waiting', 'approved', 'using') AND created_ms < :before",
    "inbox": "modality <> 'words' AND state NOT IN ('new', 'claimed') AND received_ms < :before",
}
"""The condition for deletion in each table; messages stay in `turns` and in the inbox."""


async def prune(database: Database, before_ms: int) -> int:
    """Delete rows that settled before a time; returns how many. Raises StoreError."""
    total = 0
    for table, old in _OLD.items():
        sql = f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE {old} LIMIT :most) RETURNING rowid"  # noqa: S608 - constants
        deleted = _AT_ONCE
        while deleted == _AT_ONCE:
            deleted = len(await database.run(sql, before=before_ms, most=_AT_ONCE))
            total += deleted
    return total


async def prune_periodically(database: Database, days: int, clock: Clock, emit: Emit) -> None:
    """Prune every six hours until cancelled; zero `days` keep everything."""
    while days:
        try:
            if gone := await prune(database, clock.now_ms() - days * _DAY_MS):
                emit("memory.pruned", rows=gone)
        except StoreError as error:
            emit("store.failed", reason=error.message, hint=error.hint)
        await clock.sleep(_EVERY_S)
