"""What is to be said: each row becomes visible exactly once, in order within its conversation, or is reported.

A row is `sending` before its request leaves. Found there later, it is doubtful: the platform's history is asked for its
key before anything is sent again, and what can't be told is `unknown`, never guessed (design, ruling 12).
"""

from daemon.core.errors import LostLease
from daemon.core.ports import Clock
from daemon.memory.database import Database, Transaction
from daemon.memory.records import Delivery, Worker

_NOT_FIRST = """
  EXISTS (SELECT 1 FROM outbox e WHERE e.conversation = o.conversation AND e.seq < o.seq
                                   AND e.state IN ('pending', 'sending'))
"""


class Outbox:
    """Posts on their way, sent by one worker."""

    def __init__(self, database: Database, clock: Clock, worker: Worker) -> None:
        self._database = database
        self._clock = clock
        self._worker = worker

    async def claim_next(self, conversation: str | None = None) -> Delivery | None:
        """Claim the next post that may be sent now, of any conversation or of one; None: nothing is due."""
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
                soul=self._worker.soul,
                workspace=self._worker.workspace,
                conversation=conversation,
                now=now,
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
        """When the next post may be tried, for whoever waits; None: nothing is on its way."""

        async def unit(transaction: Transaction) -> int | None:
            row = await transaction.one(
                f"""
                SELECT min(CASE WHEN state = 'sending' THEN max(lease_until, not_before) ELSE not_before END) AS due
                FROM outbox o WHERE soul = :soul AND workspace = :workspace AND state IN ('pending', 'sending')
                  AND NOT {_NOT_FIRST}
                """,  # noqa: S608 - a constant of this module
                soul=self._worker.soul,
                workspace=self._worker.workspace,
            )
            return row["due"] if row else None

        return await self._database.read(unit)

    async def sent(self, delivery: Delivery, ts: str) -> None:
        """The post is visible as `ts`. Raises LostLease when another daemon took the row over."""
        await self._settle(delivery, "sent", "", ts)

    async def give_up(self, delivery: Delivery, state: str, reason: str) -> None:
        """End a post that won't be sent: `unknown`, `expired` or `dead`. Raises LostLease."""
        await self._settle(delivery, state, reason, None)

    async def postpone(self, delivery: Delivery, seconds: float, *, doubtful: bool, reason: str) -> None:
        """Try again later; a doubtful post stays `sending`, so that it is looked up first. Raises LostLease."""
        due = self._clock.now_ms() + int(seconds * 1000)

        async def unit(transaction: Transaction) -> None:
            row = await transaction.one(
                """
                UPDATE outbox SET state = :state, not_before = :due, lease_until = 0, lease_owner = '',
                       reason = :reason
                WHERE id = :id AND fence = :fence AND state = 'sending' RETURNING id
                """,
                state="sending" if doubtful else "pending",
                due=due,
                reason=reason,
                id=delivery.post.key,
                fence=delivery.fence,
            )
            _require(row, delivery)

        await self._database.write(unit)

    async def note_draft(self, delivery: Delivery, ts: str | None) -> None:
        """Note what is known of a draft by now: it was found as `ts`, or (None) it surely never existed or is gone."""

        async def unit(transaction: Transaction) -> None:
            row = await transaction.one(
                "UPDATE outbox SET platform_ts = :ts, draft_lost = 0 WHERE id = :id AND fence = :fence RETURNING id",
                ts=ts,
                id=delivery.post.key,
                fence=delivery.fence,
            )
            _require(row, delivery)

        await self._database.write(unit)

    async def _settle(self, delivery: Delivery, state: str, reason: str, ts: str | None) -> None:
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            row = await transaction.one(
                """
                UPDATE outbox SET state = :state, reason = :reason, platform_ts = coalesce(:ts, platform_ts),
                       draft_lost = 0, settled_ms = :now, lease_until = 0, lease_owner = ''
                WHERE id = :id AND fence = :fence AND state = 'sending' RETURNING id
                """,
                state=state,
                reason=reason,
                ts=ts,
                now=now,
                id=delivery.post.key,
                fence=delivery.fence,
            )
            _require(row, delivery)

        await self._database.write(unit)


def _require(row: object, delivery: Delivery) -> None:
    if row is None:
        raise LostLease(f"{delivery.post.key} is being sent by another daemon", hint="nothing to do: it goes on there")
