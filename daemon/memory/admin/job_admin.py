"""Background jobs, as an admin lists, retries and drops them. Each change goes into the audit log."""

from dataclasses import dataclass

from daemon.core.errors import StoreError
from daemon.memory.audit import AuditedChanges
from daemon.memory.database import Transaction
from daemon.memory.records import read_row

JOB_STATES = ("ready", "running", "done", "dead")


@dataclass(frozen=True, slots=True)
class JobRow:
    """A background job. `kind` names the subprocess, times are in ms, UTC."""

    seq: int
    kind: str
    conversation: str
    state: str
    reason: str
    attempts: int
    faults: int
    not_before: int
    created_ms: int
    settled_ms: int | None


class JobAdmin(AuditedChanges):
    async def jobs(self, state: str | None, limit: int, since_ms: int = 0) -> tuple[JobRow, ...]:
        """Return the newest jobs, of one state or of all, settled or created since a time."""
        rows = await self._database.rows(
            """
            SELECT * FROM jobs WHERE (:state IS NULL OR state = :state) AND coalesce(settled_ms, created_ms) >= :since
            ORDER BY seq DESC LIMIT :limit
            """,
            state=state,
            limit=limit,
            since=since_ms,
        )
        return tuple(read_row(JobRow, row) for row in rows)

    async def retry(self, seq: int) -> JobRow:
        """Queue a dead job again, and return the row before. Raises StoreError if not dead or already replaced."""

        async def unit(transaction: Transaction) -> JobRow:
            found = await _find(transaction, seq)
            if found.state != "dead":
                raise StoreError(f"job {seq} is {found.state}; nothing to retry", hint="see `soul queue jobs list`")
            newer = await transaction.one(
                """
                SELECT 1 FROM jobs WHERE conversation = :conversation AND kind = :kind AND state IN ('ready', 'running')
                """,
                conversation=found.conversation,
                kind=found.kind,
            )
            if newer is not None:
                raise StoreError(f"a newer job does the work of job {seq}", hint=f"soul queue jobs drop {seq}")
            await transaction.run(
                """
                UPDATE jobs SET state = 'ready', reason = '', attempts = 0, faults = 0, not_before = 0,
                       settled_ms = NULL, fence = fence + 1 WHERE seq = :seq
                """,
                seq=seq,
            )
            await self._record(transaction, "jobs.retry", str(seq), found.kind)
            return found

        return await self._database.write(unit)

    async def drop(self, seq: int) -> JobRow:
        """Give up a dead job for good, and return the row before. Raises StoreError if the job isn't dead."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> JobRow:
            found = await _find(transaction, seq)
            if found.state != "dead":
                raise StoreError(f"job {seq} is {found.state}; only a dead one is dropped", hint="nothing to do")
            await transaction.run(
                "UPDATE jobs SET state = 'done', reason = :reason, settled_ms = :now WHERE seq = :seq",
                reason=f"dropped by {self._actor}",
                now=now,
                seq=seq,
            )
            await self._record(transaction, "jobs.drop", str(seq), found.kind)
            return found

        return await self._database.write(unit)


async def _find(transaction: Transaction, seq: int) -> JobRow:
    row = await transaction.one("SELECT * FROM jobs WHERE seq = :seq", seq=seq)
    if row is None:
        raise StoreError(f"there is no job {seq}", hint="see `soul queue jobs list`")
    return read_row(JobRow, row)
