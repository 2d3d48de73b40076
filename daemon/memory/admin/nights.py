"""What consolidation did, for the admin: its runs, what it leaves alone, and how a run is undone."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daemon.memory.audit import AuditedChanges
from daemon.memory.consolidation.undo import Undone, undo
from daemon.memory.database import Database, Transaction
from daemon.memory.records import read_row

_MOST_FAULTS = 20


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A row of `consolidations`: `did` counts the memories that were changed by part, `tokens` go in and out."""

    id: str
    soul: str
    workspace: str
    slot_ms: int
    audience: str
    state: str
    did: Mapping[str, int]
    tokens: int
    error: str
    began_ms: int
    ended_ms: int | None


@dataclass(frozen=True, slots=True)
class ParkedMemory:
    """A memory that a part of consolidation leaves alone, since it failed at it too often."""

    id: str
    part: str
    reason: str


async def list_runs(database: Database, limit: int, *, slot: tuple[str, str, int] | None = None) -> tuple[KeptRun, ...]:
    """The newest runs, or those of one slot (soul, workspace, time in ms), newest first."""
    soul, workspace, slot_ms = slot or ("", "", 0)
    rows = await database.rows(
        """
        SELECT * FROM consolidations
        WHERE :soul = '' OR (soul = :soul AND workspace = :workspace AND slot_ms = :slot_ms)
        ORDER BY began_ms DESC, id DESC LIMIT :limit
        """,
        soul=soul,
        workspace=workspace,
        slot_ms=slot_ms,
        limit=limit,
    )
    return tuple(read_row(KeptRun, row, did=json.loads) for row in rows)


async def parked_memories(database: Database, limit: int) -> tuple[ParkedMemory, ...]:
    """What consolidation leaves alone."""
    rows = await database.rows(
        "SELECT object AS id, part, reason FROM consolidation_items WHERE parked = 1 ORDER BY id, part LIMIT :limit",
        limit=limit,
    )
    return tuple(read_row(ParkedMemory, row) for row in rows)


async def minds(database: Database, souls: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Soul and workspace of all that these souls remember."""
    rows = await database.rows("SELECT DISTINCT soul, workspace FROM conversations ORDER BY soul, workspace")
    return tuple((row["soul"], row["workspace"]) for row in rows if row["soul"] in souls)


async def is_over(database: Database, soul: str, workspace: str, slot_ms: int) -> bool:
    """Whether a slot that was ordered is done, or waits to be tried again since something failed."""
    row = await database.one(
        """
        SELECT 1 FROM consolidation_slots WHERE soul = :soul AND workspace = :workspace AND slot_ms >= :slot_ms
          AND (slot_ms > :slot_ms OR state = 'done' OR tries > 0) AND (ordered_ms IS NULL OR ordered_ms > :slot_ms)
        """,
        soul=soul,
        workspace=workspace,
        slot_ms=slot_ms,
    )
    return row is not None


async def is_begun(database: Database, soul: str, workspace: str, slot_ms: int) -> bool:
    """Whether a daemon has taken a slot that was ordered."""
    row = await database.one(
        "SELECT 1 FROM consolidation_slots WHERE soul = :soul AND workspace = :workspace AND slot_ms >= :slot_ms",
        soul=soul,
        workspace=workspace,
        slot_ms=slot_ms,
    )
    return row is not None


async def night_faults(database: Database) -> tuple[tuple[KeptRun, ...], int]:
    """The runs that failed and are the newest of their audience, and how many memories are left alone."""
    rows = await database.rows(
        f"""
        SELECT * FROM consolidations c WHERE c.state = 'failed' AND NOT EXISTS (
          SELECT 1 FROM consolidations n WHERE n.soul = c.soul AND n.workspace = c.workspace
            AND n.audience = c.audience AND n.began_ms > c.began_ms)
        ORDER BY c.began_ms DESC LIMIT {_MOST_FAULTS}
        """  # noqa: S608 - a constant
    )
    parked = await database.one("SELECT count(*) AS n FROM consolidation_items WHERE parked = 1")
    return tuple(read_row(KeptRun, row, did=json.loads) for row in rows), int(parked["n"]) if parked else 0


class NightAdmin(AuditedChanges):
    """Changes by an admin to what consolidation did."""

    async def undo(self, run: str) -> Undone:
        """Undo a run. Raises StoreError where there is none, or it can't be undone."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> Undone:
            done = await undo(transaction, run, now)
            await self._record(transaction, "memory.undo", run)
            return done

        return await self._database.write(unit)
