"""What is to be done after a reply: durable, in order, yielding to newer turns, parked after a few failures."""

from dataclasses import dataclass

from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports import Clock, LLMCall
from daemon.memory.database import Database, Transaction
from daemon.memory.queues.llm_calls import store_calls
from daemon.memory.records import Worker

TRIES = 5

# Nothing waits to be answered in the job's conversation, and no earlier job of it is left.
_ITS_TURN = """
  NOT EXISTS (SELECT 1 FROM inbox i WHERE i.conversation = j.conversation AND i.state IN ('new', 'claimed'))
  AND NOT EXISTS (SELECT 1 FROM jobs e WHERE e.conversation = j.conversation AND e.seq < j.seq
                  AND e.state IN ('ready', 'running') AND e.not_before <= j.not_before)
"""


@dataclass(frozen=True, slots=True)
class Job:
    """A claimed job; `kind` names the subprocess, `turn` the version of its conversation after which it is done."""

    seq: int
    kind: str
    conversation: ConversationKey
    audience: Audience
    turn: int
    fence: int
    attempts: int


class Jobs:
    """Jobs of one worker."""

    def __init__(self, database: Database, clock: Clock, worker: Worker) -> None:
        self._database = database
        self._clock = clock
        self._worker = worker

    async def claim_next(self) -> Job | None:
        """Claim the next job that is due; None: nothing to do. One that never came back from TRIES claims is parked."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> Job | None:
            await transaction.run(
                """
                UPDATE jobs SET state = 'dead', reason = 'its daemon died or hung each time', settled_ms = :now,
                                lease_owner = '', fence = fence + 1
                WHERE soul = :soul AND workspace = :workspace AND state IN ('ready', 'running') AND state = 'running'
                  AND lease_until <= :now AND attempts >= :tries
                """,
                now=now,
                soul=self._worker.soul,
                workspace=self._worker.workspace,
                tries=TRIES,
            )
            row = await transaction.one(
                f"""
                UPDATE jobs SET state = 'running', attempts = attempts + 1, fence = fence + 1, lease_owner = :owner,
                                lease_until = :until
                WHERE seq = (SELECT seq FROM jobs j WHERE soul = :soul AND workspace = :workspace AND not_before <= :now
                               AND state IN ('ready', 'running') AND (state = 'ready' OR lease_until <= :now)
                               AND {_ITS_TURN} ORDER BY seq LIMIT 1)
                RETURNING *
                """,  # noqa: S608 - a constant of this module
                owner=self._worker.id,
                until=now + self._worker.lease_ms * 4,  # a job calls models; a later claim only repeats its work
                soul=self._worker.soul,
                workspace=self._worker.workspace,
                now=now,
            )
            if row is None:
                return None
            where = await transaction.one("SELECT audience FROM conversations WHERE id = :id", id=row["conversation"])
            assert where is not None  # the job would be gone with it
            return Job(
                seq=row["seq"],
                kind=row["kind"],
                conversation=ConversationKey.parse(row["conversation"]),
                audience=Audience.parse(where["audience"]),
                turn=row["turn"],
                fence=row["fence"],
                attempts=row["attempts"],
            )

        return await self._database.write(unit)

    async def next_due_ms(self) -> int | None:
        """When the next job may be tried; None: there is none."""

        async def unit(transaction: Transaction) -> int | None:
            row = await transaction.one(
                f"""
                SELECT min(CASE WHEN state = 'running' THEN lease_until ELSE not_before END) AS due FROM jobs j
                WHERE soul = :soul AND workspace = :workspace AND state IN ('ready', 'running') AND {_ITS_TURN}
                """,  # noqa: S608 - a constant of this module
                soul=self._worker.soul,
                workspace=self._worker.workspace,
            )
            return row["due"] if row else None

        return await self._database.read(unit)

    async def finish(self, job: Job, calls: tuple[LLMCall, ...]) -> None:
        """The job is done; its model calls go to the ledger. Somebody else's claim is left alone.

        If another turn wanted it meanwhile, it is done once more.
        """
        await self._settle(job, "done", "", 0, calls)

    async def fail(self, job: Job, reason: str, calls: tuple[LLMCall, ...]) -> None:
        """Try again with growing pauses, or park it as dead after TRIES attempts."""
        wait_ms = int(1000 * 5 * 2 ** (job.attempts - 1))
        state = "ready" if job.attempts < TRIES else "dead"
        await self._settle(job, state, reason, self._clock.now_ms() + wait_ms, calls)

    async def give_up(self, job: Job, calls: tuple[LLMCall, ...]) -> None:
        """A newer turn began: what was begun is dropped, and begun anew once that turn has ended."""
        await self._settle(job, "ready", "", 0, calls, counted=False)

    async def _settle(
        self, job: Job, state: str, reason: str, not_before: int, calls: tuple[LLMCall, ...], *, counted: bool = True
    ) -> None:
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            await store_calls(transaction, calls)
            await transaction.run(
                """
                UPDATE jobs SET state = CASE WHEN :state = 'done' AND turn > :turn THEN 'ready' ELSE :state END,
                                attempts = attempts - :uncounted, reason = :reason, not_before = :not_before,
                                lease_until = 0, lease_owner = '',
                                settled_ms = CASE WHEN :state = 'ready' THEN NULL ELSE :now END
                WHERE seq = :seq AND fence = :fence AND state = 'running'
                """,
                state=state,
                turn=job.turn,
                uncounted=int(not counted),
                reason=reason,
                not_before=not_before,
                now=now,
                seq=job.seq,
                fence=job.fence,
            )

        await self._database.write(unit)
