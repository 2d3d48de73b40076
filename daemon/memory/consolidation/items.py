"""What a part of consolidation has looked at, so that it looks once; and what it failed at, so that it goes on."""

from collections.abc import Sequence
from typing import Final

from daemon.core.last_line import FAULTS
from daemon.memory.database import Transaction
from daemon.memory.worker_store import WorkerStore

_NEW: Final = "(consolidation_items.fault_slot_ms <> excluded.fault_slot_ms)"  # 1 for the first fault of a slot


def unseen(part: str) -> str:
    """The condition that a part has not looked at the record `r` to its end; `part` is a literal of this package."""
    return f"""NOT EXISTS (SELECT 1 FROM consolidation_items i WHERE i.part = '{part}' AND i.object = r.id
               AND (i.seen_ms IS NOT NULL OR i.parked = 1))"""  # noqa: S608 - a literal


class Items(WorkerStore):
    """The records that parts of consolidation failed at."""

    async def parked(self, part: str, ids: Sequence[str]) -> frozenset[str]:
        """Those of the records that are left alone since the part failed at them too often."""

        async def unit(transaction: Transaction) -> frozenset[str]:
            found = [
                await transaction.one(
                    "SELECT object FROM consolidation_items WHERE part = :part AND object = :id AND parked = 1",
                    part=part,
                    id=one,
                )
                for one in ids
            ]
            return frozenset(row["object"] for row in found if row)

        return await self._database.read(unit)

    async def count_fault(self, part: str, record_id: str, reason: str, slot_ms: int) -> bool:
        """Count a failure at a record, once a slot (its time in ms); True when the record is parked with it."""

        async def unit(transaction: Transaction) -> bool:
            if await transaction.one("SELECT 1 FROM records WHERE id = :id", id=record_id) is None:
                return False
            row = await transaction.insert(
                "consolidation_items",
                f"""
                ON CONFLICT (part, object) DO UPDATE SET faults = consolidation_items.faults + {_NEW},
                  reason = excluded.reason, parked = consolidation_items.faults + {_NEW} >= {FAULTS},
                  fault_slot_ms = excluded.fault_slot_ms RETURNING parked
                """,
                part=part,
                object=record_id,
                faults=1,
                reason=reason,
                fault_slot_ms=slot_ms,
            )
            return bool(row and row["parked"])

        return await self._database.write(unit)


async def note_seen(transaction: Transaction, part: str, ids: Sequence[str], now: int) -> None:
    """Note that a part has looked at records to the end."""
    for one in ids:
        await transaction.insert(
            "consolidation_items",
            "ON CONFLICT (part, object) DO UPDATE SET seen_ms = excluded.seen_ms, faults = 0",
            part=part,
            object=one,
            seen_ms=now,
        )
