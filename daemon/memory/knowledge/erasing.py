"""Keeps the full-text indexes: joins their segments, builds damaged ones anew, wipes out words of deleted turns.

Each write adds a segment to an index, and each search walks all of them: the small ones are joined every minute, and
all of them every hour in which the small ones have come to a tenth of the largest. FTS5 notes that an entry is gone and
keeps its bytes until parts of the index are merged. So an index that lost a row is merged anew, in short units with a
rest between them; `secure_delete` overwrites the pages that become free.
"""

from functools import partial
from typing import Final

from daemon.core.errors import StoreError
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.index_repair import rebuild
from daemon.memory.knowledge.word_index import merge, segments

_INDEXES: Final = ("turn", "record", "library")
_MOST_SEGMENTS: Final = 4  # searching fifty rooms takes twice as long with seven as with one
_GROWN: Final = 0.1  # of its largest segment, by which an index grows before all of it is merged
_JOIN_EVERY_S: Final = 60.0
_WIPE_EVERY_S: Final = 3600.0
_REST: Final = 4.0  # times as long as a unit took


async def wipe(database: Database, clock: Clock) -> int:
    """Merge the indexes that lost rows since the last time; gives the number of rows. Raises StoreError."""
    total = 0
    for row in await database.rows("SELECT name, rows_gone FROM erased_words ORDER BY name"):
        name, gone = row["name"], row["rows_gone"]
        await _merge_all(database, clock, name)
        await database.run("DELETE FROM erased_words WHERE name = :name AND rows_gone = :gone", name=name, gone=gone)
        total += gone
    return total


async def join(database: Database, clock: Clock) -> None:
    """Join the smaller segments of indexes that have many. Raises StoreError."""
    for name in _INDEXES:
        if len(await database.read(partial(segments, name=name))) > _MOST_SEGMENTS:
            while await _merge(database, clock, name, begun=True):
                pass


async def join_all(database: Database, clock: Clock) -> None:
    """Join all segments of indexes that grew by a tenth since they were one. Raises StoreError."""
    for name in _INDEXES:
        largest, *smaller = await database.read(partial(segments, name=name)) or [0]
        if sum(smaller) > _GROWN * largest:
            await _merge_all(database, clock, name)


async def mend(database: Database, clock: Clock) -> int:
    """Build damaged indexes anew; gives the number of rows that they hold now. Raises StoreError."""
    total = 0
    for row in await database.rows("SELECT name FROM distrusted_indexes ORDER BY name"):
        unit = partial(rebuild, name=row["name"])
        began = clock.monotonic()
        while (rows := await database.write(unit)) is not None:
            total += rows
            await clock.sleep(_REST * (clock.monotonic() - began))
            began = clock.monotonic()
    return total


async def _merge_all(database: Database, clock: Clock, name: str) -> None:
    """Merge an index into one segment, in short units."""
    begun = False
    while await _merge(database, clock, name, begun=begun):
        begun = True


async def _merge(database: Database, clock: Clock, name: str, *, begun: bool) -> bool:
    """One short unit of merging; whether there is more to do."""

    async def unit(transaction: Transaction) -> bool:
        return await merge(transaction, name, begun=begun)

    began = clock.monotonic()
    more = await database.write(unit)
    await clock.sleep(_REST * (clock.monotonic() - began))
    return more


async def tidy_periodically(database: Database, clock: Clock, emit: Emit) -> None:
    """Join small segments every minute; wipe, mend and join all every hour, until cancelled."""
    wipe_at = clock.monotonic()
    while True:
        try:
            if clock.monotonic() >= wipe_at:
                wipe_at = clock.monotonic() + _WIPE_EVERY_S
                if gone := await wipe(database, clock):
                    emit("memory.wiped", rows=gone)
                if rows := await mend(database, clock):
                    emit("memory.index_rebuilt", rows=rows)
                await join_all(database, clock)
            await join(database, clock)
        except StoreError as error:
            emit("store.failed", reason=error.message, hint=error.hint)
        await clock.sleep(_JOIN_EVERY_S)
