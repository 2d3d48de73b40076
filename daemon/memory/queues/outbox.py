"""The outbox: each post becomes visible exactly once, in order within its conversation, or is reported.

A row is `sending` before its request leaves. When a daemon dies there, the row is doubtful: the platform's history is
searched for its key before it is sent again. A post that can't be found or ruled out becomes `unknown`: it is not sent
twice by guesswork.
"""

from daemon.core.errors import LostLease
from daemon.memory.database import Transaction
from daemon.memory.records import Delivery
from daemon.memory.worker_store import WorkerStore

_NOT_FIRST = """
  EXISTS (SELECT 1 FROM outbox e WHERE e.conversation = o.conversation AND e.seq < o.seq
                                   AND e.state IN ('pending', 'sending'))
"""


class Outbox(WorkerStore):
    """The posts that one worker sends."""

    async def claim_next(self, conversation: str | None = None) -> Delivery | None:
        """Claim the next post that may be sent now, of any conversation or of one; None when none is due."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> Delivery | None:
            row = await transaction.one(
                f"""
                SELECT seq, state FROM outbox o
                WHERE soul = :soul AND workspace = :workspace AND not_before <= :now
                  AND (:conversation IS NULL OR conversation = :conversation)
                  AND state IN ('pending', 'sending') AND (state = 'pending' OR lease_until <= :now)
                  AND NOT {_NOT_FIRST}
                ORDER BY seq LIMIT 1
                """,  # noqa: S608 - a constant of this module
                conversation=conversation,
                now=now,
                **self._worker.scope,
            )
            if row is None:
                return None
            claimed = await transaction.one(
                """
                UPDATE outbox SET state = 'sending', attempts = attempts + 1, fence = fence + 1, lease_owner = :owner,
                                  lease_until = :until WHERE seq = :seq RETURNING *
                """,
                owner=self._worker.id,
                until=now + self._worker.lease_ms,
                seq=row["seq"],
            )
            assert claimed is not None  # selected in this very transaction
            return Delivery.from_row(claimed, doubtful=row["state"] == "sending")

        return await self._database.write(unit)

    async def next_due_ms(self) -> int | None:
        """When the next post may be tried; None when none waits."""
        return await self._due_ms(
            f"""
            SELECT min(CASE WHEN state = 'sending' THEN max(lease_until, not_before) ELSE not_before END) AS due
            FROM outbox o WHERE soul = :soul AND workspace = :workspace AND state IN ('pending', 'sending')
              AND NOT {_NOT_FIRST}
            """  # noqa: S608 - a constant of this module
        )

    async def sent(self, delivery: Delivery, ts: str) -> None:
        """Record that the post is visible as `ts`. Raises LostLease when another daemon took the row over."""
        await self._settle(delivery, "sent", "", ts)

    async def give_up(self, delivery: Delivery, state: str, reason: str) -> None:
        """Settle a post that won't be sent as `unknown`, `expired` or `dead`. Raises LostLease."""
        await self._settle(delivery, state, reason, None)

    async def postpone(self, delivery: Delivery, seconds: float, *, doubtful: bool, reason: str) -> None:
        """Try again after some seconds; a doubtful post stays `sending`, so that it is looked up. Raises LostLease."""
        await self._update(
            delivery,
            """
            UPDATE outbox SET state = :state, not_before = :due, lease_until = 0, lease_owner = '', reason = :reason
            WHERE id = :id AND fence = :fence AND state = 'sending' RETURNING id
            """,
            state="sending" if doubtful else "pending",
            due=self._clock.now_ms() + int(seconds * 1000),
            reason=reason,
        )

    async def note_draft(self, delivery: Delivery, ts: str | None) -> None:
        """Store that a draft was found as `ts`, or (None) that it never existed or is gone. Raises LostLease."""
        await self._update(
            delivery,
            "UPDATE outbox SET platform_ts = :ts, draft_lost = 0 WHERE id = :id AND fence = :fence RETURNING id",
            ts=ts,
        )

    async def _settle(self, delivery: Delivery, state: str, reason: str, ts: str | None) -> None:
        await self._update(
            delivery,
            """
            UPDATE outbox SET state = :state, reason = :reason, platform_ts = coalesce(:ts, platform_ts),
                   draft_lost = 0, settled_ms = :now, lease_until = 0, lease_owner = ''
            WHERE id = :id AND fence = :fence AND state = 'sending' RETURNING id
            """,
            state=state,
            reason=reason,
            ts=ts,
            now=self._clock.now_ms(),
        )

    async def _update(self, delivery: Delivery, sql: str, **values: object) -> None:
        if not await self._database.run(sql, id=delivery.post.key, fence=delivery.fence, **values):
            raise LostLease(
                f"another daemon sends {delivery.post.key}", hint="nothing to do: the other daemon finishes it"
            )
