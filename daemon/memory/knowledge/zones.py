"""The time zone of each person, as the platform said last; it is the same for every soul and audience."""

from collections.abc import Mapping

from daemon.memory.database import Transaction
from daemon.memory.worker_store import WorkerStore


class Zones(WorkerStore):
    """Reads the zones of one worker's workspace."""

    async def zone_of(self, person: str) -> str:
        """The IANA name of the zone that a person was last known to live in; empty if it never was."""
        row = await self._database.one(
            "SELECT zone FROM person_zones WHERE workspace = :workspace AND person = :person",
            workspace=self._worker.workspace,
            person=person,
        )
        return str(row["zone"]) if row else ""


async def keep_zones(transaction: Transaction, workspace: str, zones: Mapping[str, str], now: int) -> None:
    """Store where people live by now; a person whose zone the platform does not say keeps the last one known."""
    for person, zone in zones.items():
        await transaction.run(
            """
            INSERT INTO person_zones (workspace, person, zone, updated_ms) VALUES (:workspace, :person, :zone, :now)
            ON CONFLICT (workspace, person) DO UPDATE SET zone = excluded.zone, updated_ms = excluded.updated_ms
              WHERE zone <> excluded.zone
            """,
            workspace=workspace,
            person=person,
            zone=zone,
            now=now,
        )
