"""The time zone of each person, as the platform said last; it is the same for every soul and audience."""

from collections.abc import Mapping

from daemon.core.recurrence import recurrence_of
from daemon.memory.database import Transaction
from daemon.memory.worker_store import WorkerStore


class Zones(WorkerStore):
    """Reads and keeps the zones of one worker's workspace."""

    async def zone_of(self, person: str) -> str:
        """The IANA name of the zone that a person was last known to live in; empty if it never was."""
        workspace = self._worker.workspace
        return await self._database.read(lambda transaction: zone_in(transaction, workspace, person))

    async def keep(self, zones: Mapping[str, str]) -> None:
        """See `keep_zones`."""
        workspace, now = self._worker.workspace, self._clock.now_ms()
        await self._database.write(lambda transaction: keep_zones(transaction, workspace, zones, now))


async def zone_in(transaction: Transaction, workspace: str, person: str) -> str:
    """The zone that a person was last known to live in; empty if it never was."""
    row = await transaction.one(
        "SELECT zone FROM person_zones WHERE workspace = :workspace AND person = :person",
        workspace=workspace,
        person=person,
    )
    return str(row["zone"]) if row else ""


async def keep_zones(transaction: Transaction, workspace: str, zones: Mapping[str, str], now: int) -> None:
    """Store where people live by now; a person whose zone the platform does not say keeps the last one known.

    What repeats for a person who has moved is due at the same local time where they live now.
    """
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
        await _reckon_anew(transaction, workspace, person, zone, now)


async def _reckon_anew(transaction: Transaction, workspace: str, person: str, zone: str, now: int) -> None:
    rows = await transaction.rows(
        """
        SELECT id, every, fired_day FROM intentions
        WHERE behalf = :person AND workspace = :workspace AND slot <> 'idle' AND state = 'waiting' AND every <> ''
          AND zone <> :zone AND due_ms > :now
        """,
        now=now,
        workspace=workspace,
        person=person,
        zone=zone,
    )
    for row in rows:
        rule = recurrence_of(row["every"])
        if rule is None or rule.hours:
            continue
        await transaction.run(
            "UPDATE intentions SET due_ms = :due, zone = :zone WHERE id = :id",
            due=rule.first(now, zone, row["fired_day"]).due_ms,
            zone=zone,
            id=row["id"],
        )
