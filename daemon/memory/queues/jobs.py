"""Jobs that run after a reply: durable, in order, given up for newer turns, dead after a few failures."""

from collections.abc import Sequence

from daemon.core.errors import LostLease
from daemon.core.last_line import FAULTS, in_short
from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports.services import LLMCall
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.user_models import LEARNS_OF_PEOPLE
from daemon.memory.records import as_json, conversation_columns, read_row
from daemon.memory.spending.reservations import store_calls
from daemon.memory.worker_store import WorkerStore

TRIES = 5
MOST_GATHERED = 8  # turns that wait for one job until it no longer waits for a lull

TRIED_AGAIN_MS = 24 * 3600 * 1000
"""Milliseconds until a look that failed for good is tried once more."""

LEARNS = (LEARNS_OF_PEOPLE, "closes_the_visit")
"""The jobs that a night waits for and pays for."""

LOOK = "looks_at_what_was_shown"
"""The job that makes records of the files in messages, queued with the file."""

# No message waits in the job's conversation, and no earlier job of the conversation is left.
_MAY_RUN = """
  NOT EXISTS (SELECT 1 FROM inbox i WHERE i.conversation = j.conversation AND i.state IN ('new', 'claimed'))
  AND NOT EXISTS (SELECT 1 FROM jobs e WHERE e.conversation = j.conversation AND e.seq < j.seq
                  AND e.state IN ('ready', 'running') AND e.not_before <= j.not_before)
"""


_BURY = """
  UPDATE jobs SET state = 'dead', reason = 'its daemon died or hung each time', settled_ms = :now, lease_owner = '',
                  fence = fence + 1
  WHERE soul = :soul AND workspace = :workspace AND state IN ('ready', 'running') AND state = 'running'
    AND lease_until <= :now AND attempts >= :tries
"""


class Job(Value):
    """A claimed job.

    `kind` names the subprocess, `turn` is the version of the conversation that enqueued it. `nonce` fences the
    conversation's prompts, if it has one. `person` spoke there last, by platform id.
    """

    seq: int
    kind: str
    conversation: ConversationKey
    audience: Audience
    turn: int
    fence: int
    attempts: int
    faults: int = 0
    nonce: str = ""
    person: str = ""


async def enqueue_job(
    transaction: Transaction, kind: str, conversation: ConversationKey, turn: int, now: int, *, lull_ms: int = 0
) -> None:
    """Queue a job to run after `turn`, or move a waiting or running one of its kind to the newer turn.

    With a lull the job waits until that long nothing new asked for it, or MOST_GATHERED turns did.
    """
    await transaction.insert(
        "jobs",
        f"""
        ON CONFLICT (conversation, kind) WHERE state IN ('ready', 'running') DO UPDATE SET turn = excluded.turn,
          gathered = jobs.gathered + 1,
          not_before = CASE WHEN excluded.not_before = 0 THEN jobs.not_before
                            WHEN jobs.gathered + 1 >= {MOST_GATHERED} THEN 0 ELSE excluded.not_before END
        """,
        kind=kind,
        **conversation_columns(conversation),
        turn=turn,
        state="ready",
        not_before=now + lull_ms if lull_ms else 0,
        created_ms=now,
    )


class Jobs(WorkerStore):
    """The jobs of one worker."""

    async def claim_next(self, kinds: Sequence[str] = ()) -> Job | None:
        """Claim the next due job, of some kinds or of any.

        A job whose lease lapsed TRIES times is dead. A row that can't be read is parked, and its error raised.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> sqlite3.Row | None:
            await transaction.run(_BURY, now=now, tries=TRIES, **self._worker.scope)
            row = await transaction.one(
                f"""
                UPDATE jobs SET state = 'running', attempts = attempts + 1, fence = fence + 1, lease_owner = :owner,
                                lease_until = :until
                WHERE seq = (SELECT seq FROM jobs j WHERE soul = :soul AND workspace = :workspace AND not_before <= :now
                               AND state IN ('ready', 'running') AND (state = 'ready' OR lease_until <= :now)
                               AND (:kinds = '[]' OR kind IN (SELECT value FROM json_each(:kinds)))
                               AND {_MAY_RUN} ORDER BY seq LIMIT 1)
                RETURNING seq
                """,  # noqa: S608 - a constant of this module
                kinds=as_json(list(kinds)),
                owner=self._worker.id,
                until=now + self._worker.lease_ms,
                now=now,
                **self._worker.scope,
            )
            if row is None:
                return None
            return await transaction.one(
                """
                SELECT j.*, c.audience, c.nonce, coalesce((SELECT t.author FROM turns t WHERE t.conversation = c.id
                         AND t.speaker <> 'soul' ORDER BY t.seq DESC LIMIT 1), '') AS person
                FROM jobs j JOIN conversations c ON c.id = j.conversation
                WHERE seq = :seq
                """,
                seq=row["seq"],
            )

        claimed = await self._database.write(unit)
        if claimed is None:
            return None
        try:
            return read_row(Job, claimed, conversation=ConversationKey.parse, audience=Audience.parse)
        except Exception as error:
            await self._database.run(
                """
                UPDATE jobs SET state = 'dead', reason = :reason, settled_ms = :now, lease_until = 0, lease_owner = ''
                WHERE seq = :seq AND fence = :fence
                """,
                reason=f"its row can't be read: {in_short(error)}",
                now=now,
                seq=claimed["seq"],
                fence=claimed["fence"],
            )
            raise

    @property
    def renew_every(self) -> float:
        return self._worker.lease_ms / 3000

    async def renew(self, job: Job) -> None:
        """Hold a job for another lease while it runs. Raises LostLease."""
        held = await self._database.run(
            """
            UPDATE jobs SET lease_until = :until WHERE seq = :seq AND fence = :fence AND state = 'running' RETURNING seq
            """,
            until=self._clock.now_ms() + self._worker.lease_ms,
            seq=job.seq,
            fence=job.fence,
        )
        if not held:
            raise LostLease(f"another daemon does job {job.seq}", hint="nothing to do: the other daemon finishes it")

    async def next_due_ms(self) -> int | None:
        """Return when the next job may be tried (ms), or None."""
        return await self._due_ms(
            f"""
            SELECT min(CASE WHEN state = 'running' THEN lease_until ELSE not_before END) AS due FROM jobs j
            WHERE soul = :soul AND workspace = :workspace AND state IN ('ready', 'running') AND {_MAY_RUN}
            """  # noqa: S608 - a constant of this module
        )

    async def finish(self, job: Job, calls: tuple[LLMCall, ...]) -> None:
        """End a job and record its model calls. It runs again if a newer turn has enqueued it since.

        `finish`, `fail` and `give_up` leave a job alone that another daemon has claimed since.
        """
        await self._settle(job, "done", "", 0, calls)

    async def fail(self, job: Job, reason: str, calls: tuple[LLMCall, ...], *, foreseen: bool = True) -> bool:
        """Retry a job after a growing pause. After TRIES attempts or FAULTS unforeseen failures it is dead: True."""
        wait_ms = int(1000 * 5 * 2 ** (job.attempts - 1))
        faults = int(not foreseen)
        dead = job.attempts >= TRIES or job.faults + faults >= FAULTS
        state = "dead" if dead else "ready"
        await self._settle(job, state, reason, self._clock.now_ms() + wait_ms, calls, faults=faults)
        return dead

    async def give_up(self, job: Job, calls: tuple[LLMCall, ...]) -> None:
        """Return a job to the queue because a newer turn began. This try does not count."""
        await self._settle(job, "ready", "", 0, calls, counted=False)

    async def put_off(self, job: Job, reason: str, until_ms: int, calls: tuple[LLMCall, ...]) -> None:
        """Return a job to the queue until a moment, since nothing may be spent on it now. This try does not count."""
        await self._settle(job, "ready", reason, until_ms, calls, counted=False)

    async def _settle(
        self,
        job: Job,
        state: str,
        reason: str,
        not_before: int,
        calls: tuple[LLMCall, ...],
        *,
        counted: bool = True,
        faults: int = 0,
    ) -> None:
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            await store_calls(transaction, calls)
            if calls and job.kind in LEARNS:
                await _charge_night(transaction, calls, now, **self._worker.scope)
            await transaction.run(
                """
                UPDATE jobs SET state = CASE WHEN :state = 'done' AND turn > :turn THEN 'ready' ELSE :state END,
                                attempts = attempts - :uncounted, faults = faults + :faults,
                                reason = :reason,
                                not_before = CASE :state WHEN 'done' THEN not_before ELSE :not_before END,
                                gathered = CASE :state WHEN 'done' THEN 1 ELSE gathered END,
                                lease_until = 0, lease_owner = '',
                                settled_ms = CASE WHEN :state = 'ready' THEN NULL ELSE :now END
                WHERE seq = :seq AND fence = :fence AND state = 'running'
                """,
                state=state,
                turn=job.turn,
                uncounted=int(not counted),
                faults=faults,
                reason=reason,
                not_before=not_before,
                now=now,
                seq=job.seq,
                fence=job.fence,
            )

        await self._database.write(unit)


async def _charge_night(transaction: Transaction, calls: Sequence[LLMCall], now: int, **scope: str) -> None:
    await transaction.run(
        """
        UPDATE consolidation_slots SET learned_tokens = learned_tokens + :used
        WHERE soul = :soul AND workspace = :workspace AND state = 'open' AND lease_owner <> '' AND lease_until > :now
        """,
        used=sum(call.tokens_in + call.tokens_out for call in calls),
        now=now,
        **scope,
    )


_MOST_FAILED = 3  # looks at the same words that failed for good, each after several tries

# It begins with the few rows that wait. Words that a person had forgotten since have no turn.
_WAITING = f"""
    SELECT DISTINCT c.id, c.version FROM looked_through l
    CROSS JOIN conversations c ON c.id = l.conversation
    CROSS JOIN user_models m ON m.soul = c.soul AND m.workspace = c.workspace AND m.person = l.person
      AND m.audience = c.audience
    WHERE l.wanted_to > l.up_to AND c.soul = :soul AND c.workspace = :workspace
      AND NOT EXISTS (SELECT 1 FROM remembering p WHERE p.soul = c.soul AND p.workspace = c.workspace
                        AND p.person = l.person AND p.paused_ms IS NOT NULL)
      AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.conversation = c.id AND j.kind = '{LEARNS_OF_PEOPLE}'
                        AND (j.state IN ('ready', 'running')
                          OR (j.state = 'dead' AND j.settled_ms BETWEEN :tried AND :now)))
      AND EXISTS (SELECT 1 FROM turns t WHERE t.author = l.person AND t.speaker = 'person' AND t.seq > l.up_to
                    AND t.seq <= l.wanted_to AND t.conversation = l.conversation AND t.passing = 0
                    AND (m.interactions >= :least OR EXISTS (
                      SELECT 1 FROM shown_facts s WHERE s.soul = c.soul AND s.workspace = c.workspace
                        AND s.person = l.person AND s.shown_ms >= t.said_ms))
                    AND (SELECT count(*) FROM jobs j WHERE j.conversation = c.id AND j.kind = '{LEARNS_OF_PEOPLE}'
                           AND j.state = 'dead' AND j.settled_ms > t.said_ms) < {_MOST_FAILED})
    """  # noqa: S608 - constants


class UnreadWords(WorkerStore):
    """The words that people said to one worker's soul and no job has looked through."""

    async def sweep(self, least: int) -> int:
        """Queue a look for people with at least `least` messages where none waits, and return the number queued.

        This finds words of people who had said too little at the time, and words whose look failed for good.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> int:
            rows = await transaction.rows(
                _WAITING, least=least, tried=now - TRIED_AGAIN_MS, now=now, **self._worker.scope
            )
            for row in rows:
                await enqueue_job(transaction, LEARNS_OF_PEOPLE, ConversationKey.parse(row["id"]), row["version"], now)
            return len(rows)

        return await self._database.write(unit)
