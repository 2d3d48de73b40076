"""Takes away what only told how things went, once it is old: never words, notes, or anything that still waits."""

from daemon.core.errors import StoreError
from daemon.core.ports import Clock, Emit
from daemon.memory.database import Database, Transaction

_EVERY_S = 6 * 3600.0
_AT_ONCE = 500  # rows in one transaction, which has to be short
_DAY_MS = 86_400_000

_OLD = {
    "transitions": "at_ms < :before",
    "intentions": "state <> 'waiting' AND coalesce(settled_ms, created_ms) < :before AND every = ''",
    "approvals": "state NOT IN ('waiting', 'approved', 'using') AND created_ms < :before",
    "inbox": "modality <> 'words' AND state NOT IN ('new', 'claimed') AND received_ms < :before",
}
"""What may go of each table; the words that people said stay in `turns` and in the inbox."""


async def prune(database: Database, before_ms: int) -> int:
    """Delete what settled before a time; returns how many rows went. Raises StoreError."""
    gone = 0
    for table, old in _OLD.items():
        while deleted := await _some(database, table, old, before_ms):
            gone += deleted
            if deleted < _AT_ONCE:
                break
    return gone


async def _some(database: Database, table: str, old: str, before_ms: int) -> int:
    async def unit(transaction: Transaction) -> int:
        rows = await transaction.rows(
            f"""
            DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE {old} LIMIT :most) RETURNING rowid
            """,  # noqa: S608 - constants of this module
            before=before_ms,
            most=_AT_ONCE,
        )
        return len(rows)

    return await database.write(unit)


async def prune_periodically(database: Database, days: int, clock: Clock, emit: Emit) -> None:
    """Prune a few times a day until cancelled; zero days keep everything."""
    while days:
        try:
            if gone := await prune(database, clock.now_ms() - days * _DAY_MS):
                emit("memory.pruned", rows=gone)
        except StoreError as error:
            emit("store.failed", reason=error.message, hint=error.hint)
        await clock.sleep(_EVERY_S)
