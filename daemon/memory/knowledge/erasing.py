"""Wipes the words of deleted and edited turns out of the pages of the full-text indexes.

FTS5 notes that an entry is gone and keeps its bytes until parts of the index are merged. So an index that lost a row is
merged anew, in short units with a rest between them; `secure_delete` overwrites the pages that become free.
"""

from typing import Final

from daemon.core.errors import StoreError
from daemon.core.ports import Clock, Emit
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.word_index import merge

_EVERY_S: Final = 3600.0
_REST: Final = 4.0  # times as long as a unit took


async def wipe(database: Database, clock: Clock) -> int:
    """Merge the indexes that lost rows since the last time; gives the number of rows. Raises StoreError."""
    total = 0
    for row in await database.rows("SELECT name, rows_gone FROM erased_words ORDER BY name"):
        name, gone = row["name"], row["rows_gone"]
        begun = False
        while await _merge(database, clock, name, begun=begun):
            begun = True
        await database.run("DELETE FROM erased_words WHERE name = :name AND rows_gone = :gone", name=name, gone=gone)
        total += gone
    return total


async def _merge(database: Database, clock: Clock, name: str, *, begun: bool) -> bool:
    """One short unit of merging; whether there is more to do."""

    async def unit(transaction: Transaction) -> bool:
        return await merge(transaction, name, begun=begun)

    began = clock.monotonic()
    more = await database.write(unit)
    await clock.sleep(_REST * (clock.monotonic() - began))
    return more


async def wipe_periodically(database: Database, clock: Clock, emit: Emit) -> None:
    """Wipe every hour until cancelled."""
    while True:
        try:
            if gone := await wipe(database, clock):
                emit("memory.wiped", rows=gone)
        except StoreError as error:
            emit("store.failed", reason=error.message, hint=error.hint)
        await clock.sleep(_EVERY_S)
