"""What the vectors have still to follow: ids in the order of their changes, and orders to build everything anew.

Triggers of memory.db queue each turn, record and passage that is new, changed or gone, in the unit that does so.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from daemon.memory.database import Database, Transaction


class Order(StrEnum):
    """What the owner of the index is asked to do; no id of a memory begins like these."""

    REBUILD = "!rebuild"
    """Throw all vectors away and make them anew."""
    RENEW = "!renew"
    """Give Chroma a new folder and pack vectors.db, so that no page of either holds what was deleted."""


async def enqueue(transaction: Transaction, ids: Sequence[str]) -> None:
    """Queue ids, or an order; one that is queued already keeps no older place."""
    await transaction.run_for_each("DELETE FROM vector_queue WHERE id = :key", ids)
    await transaction.run_for_each("INSERT INTO vector_queue (id) VALUES (:key)", ids)


async def next_queued(transaction: Transaction, most: int) -> Mapping[str, int]:
    """The first ids of the queue with their seq; to rebuild comes before all others.

    To renew comes after what was queued before it: what is deleted must not get into the new folder.
    """
    rows = await transaction.rows(
        "SELECT id, seq FROM vector_queue ORDER BY id <> :rebuild, seq LIMIT :most",
        rebuild=Order.REBUILD,
        most=most,
    )
    return {row["id"]: row["seq"] for row in rows}


async def settle(database: Database, done: Mapping[str, int]) -> None:
    """Take what is done off the queue, except what has changed since it was read."""

    async def unit(transaction: Transaction) -> None:
        await transaction.run_for_each("DELETE FROM vector_queue WHERE seq = :key", done.values())

    await database.write(unit, passing=True)


async def is_ordered(transaction: Transaction, order: Order) -> bool:
    """Whether an order waits."""
    return bool(await transaction.rows("SELECT 1 FROM vector_queue WHERE id = :order", order=order))


async def queued(transaction: Transaction) -> int:
    """How many wait."""
    row = await transaction.one("SELECT count(*) AS number FROM vector_queue")
    assert row is not None
    number: int = row["number"]
    return number
