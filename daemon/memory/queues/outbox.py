"""The outbox: each post becomes visible exactly once, in order within its conversation, or is reported."""

from daemon.core.errors import LostLease
from daemon.core.last_line import FAULTS, in_short
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.emptied_posts import Note, drop_note, end_emptied, note_on_post
from daemon.memory.queues.feedback import delete_if_withdrawn
from daemon.memory.records import Delivery
from daemon.memory.worker_store import WorkerStore

DOUBT_HOLDS_MS = 60_000
"""Milliseconds for which a post in doubt holds back later posts. Then a note in its thread reports it."""

_NOT_FIRST = """
  EXISTS (SELECT 1 FROM outbox e WHERE e.conversation = o.conversation AND e.seq < o.seq
                                   AND e.state IN ('pending', 'sending')
                                   AND coalesce(e.doubted_ms, :now) > :now - :doubt_holds)
"""


class Outbox(WorkerStore):
    """The posts that one worker sends.

    A row is `sending` before its request leaves. If a daemon dies there, the row is in doubt: the platform's history is
    searched for its key before a retry. A post that can't be found or ruled out becomes `unknown` and is not sent
    twice. A post that fails three times unexpectedly is `dead`. A post that isn't `sent` in the end leaves a note in
    its place.
    """

    async def claim_next(self, conversation: str | None = None) -> Delivery | None:
        """Claim the next post that may be sent now, of any conversation or of one. An unreadable row is parked."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> tuple[sqlite3.Row, bool] | None:
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
                doubt_holds=DOUBT_HOLDS_MS,
                **self._worker.scope,
            )
            if row is None:
                return None
            doubtful = row["state"] == "sending"
            claimed = await transaction.one(
                """
                UPDATE outbox SET state = 'sending', attempts = attempts + 1, fence = fence + 1, lease_owner = :owner,
                                  lease_until = :until, doubted_ms = coalesce(doubted_ms, :doubted_ms)
                WHERE seq = :seq RETURNING *
                """,
                owner=self._worker.id,
                until=now + self._worker.lease_ms,
                doubted_ms=now if doubtful else None,
                seq=row["seq"],
            )
            assert claimed is not None  # selected in this very transaction
            return claimed, doubtful

        found = await self._database.write(unit)
        if found is None:
            return None
        claimed, doubtful = found
        try:
            return Delivery.from_row(claimed, doubtful=doubtful)
        except Exception as error:
            await self._park_unreadable(claimed["id"], claimed["fence"], in_short(error))
            raise

    async def next_due_ms(self) -> int | None:
        """Return when the next post may be tried (ms), or None if none waits."""
        row = await self._database.one(
            f"""
            SELECT min(CASE WHEN state = 'sending' THEN max(lease_until, not_before) ELSE not_before END) AS due
            FROM outbox o WHERE soul = :soul AND workspace = :workspace AND state IN ('pending', 'sending')
              AND NOT {_NOT_FIRST}
            """,  # noqa: S608 - a constant of this module
            now=self._clock.now_ms(),
            doubt_holds=DOUBT_HOLDS_MS,
            **self._worker.scope,
        )
        return row["due"] if row else None

    async def sent(self, delivery: Delivery, ts: str) -> None:
        """Record that the post is visible as `ts`. Raises LostLease when another daemon took the row over."""
        await self._settle(delivery, "sent", "", ts)

    async def give_up(self, delivery: Delivery, state: str, reason: str, note: Note) -> None:
        """Settle a post that won't be sent as `unknown`, `expired` or `dead`, with a note. Raises LostLease."""
        await self._settle(delivery, state, reason, None, note)

    async def drop(self, delivery: Delivery, reason: str) -> None:
        """Settle a post of which nothing is visible or will be. Raises LostLease."""
        await self._settle(delivery, "dropped", reason, None)

    async def end_emptied(self, delivery: Delivery) -> None:
        """End a post that lost its words and surely did not arrive (see `emptied_posts`). Raises LostLease."""
        await self._update(
            delivery,
            """
            UPDATE outbox SET lease_until = 0, lease_owner = '' WHERE id = :id AND fence = :fence AND state = 'sending'
            RETURNING id
            """,
            emptied=True,
        )

    async def postpone(self, delivery: Delivery, seconds: float, *, doubtful: bool, reason: str) -> None:
        """Retry after some seconds. Raises LostLease.

        A doubtful post stays `sending`, in order to be looked up first. After a minute in doubt it gets a note.
        """
        now = self._clock.now_ms()
        noted = doubtful and delivery.doubted_ms is not None and now - delivery.doubted_ms >= DOUBT_HOLDS_MS
        await self._update(
            delivery,
            """
            UPDATE outbox SET state = :state, not_before = :due, lease_until = 0, lease_owner = '', reason = :reason,
                   doubted_ms = coalesce(doubted_ms, :doubted_ms)
            WHERE id = :id AND fence = :fence AND state = 'sending' RETURNING id
            """,
            Note.IN_DOUBT if noted else None,
            state="sending" if doubtful else "pending",
            due=now + int(seconds * 1000),
            doubted_ms=now if doubtful else None,
            reason=reason,
        )

    async def count_fault(self, delivery: Delivery, seconds: float, reason: str) -> bool:
        """Count an unforeseen failure, and return whether it was the last one, which parks the post.

        Otherwise the post is retried after some seconds. It may have been sent, and is looked up first. Raises
        LostLease.
        """
        parked = delivery.faults + 1 >= FAULTS
        now = self._clock.now_ms()
        await self._update(
            delivery,
            """
            UPDATE outbox SET state = :state, faults = faults + 1, not_before = :due, lease_until = 0, lease_owner = '',
                   reason = :reason, settled_ms = :settled, doubted_ms = coalesce(doubted_ms, :now)
            WHERE id = :id AND fence = :fence AND state = 'sending' RETURNING id
            """,
            Note.DEAD if parked else None,
            state="dead" if parked else "sending",
            due=now + int(seconds * 1000),
            settled=now if parked else None,
            reason=reason,
            now=now,
        )
        return parked

    async def count_draft_try(self, delivery: Delivery) -> None:
        """Count a try to finish a draft, or to revise a post, that the platform answered but did not do."""
        await self._update(
            delivery,
            "UPDATE outbox SET draft_tries = draft_tries + 1 WHERE id = :id AND fence = :fence RETURNING id",
        )

    async def give_up_draft(self, delivery: Delivery) -> None:
        """Have the whole text posted as a new message under the same key: the draft or original can't be changed."""
        await self._update(
            delivery,
            """
            UPDATE outbox SET platform_ts = NULL, draft_lost = 0, revises = NULL
            WHERE id = :id AND fence = :fence RETURNING id
            """,
        )

    async def note_draft(self, delivery: Delivery, ts: str | None) -> None:
        """Store that a draft was found as `ts`, or (None) that it never existed or is gone. Raises LostLease."""
        await self._update(
            delivery,
            "UPDATE outbox SET platform_ts = :ts, draft_lost = 0 WHERE id = :id AND fence = :fence RETURNING id",
            ts=ts,
        )

    async def _settle(
        self, delivery: Delivery, state: str, reason: str, ts: str | None, note: Note | None = None
    ) -> None:
        await self._update(
            delivery,
            """
            UPDATE outbox SET state = :state, reason = :reason,
                   platform_ts = CASE WHEN nod <> '' THEN NULL ELSE coalesce(:ts, platform_ts) END,
                   body = CASE WHEN file <> '' AND :state = 'sent' THEN '' ELSE body END,
                   cleared = CASE WHEN file <> '' AND :state = 'sent' THEN 1 ELSE cleared END,
                   draft_lost = 0, settled_ms = :now, lease_until = 0, lease_owner = ''
            WHERE id = :id AND fence = :fence AND state = 'sending' RETURNING id
            """,
            note,
            state=state,
            reason=reason,
            ts=ts,
            now=self._clock.now_ms(),
        )

    async def _update(
        self, delivery: Delivery, sql: str, note: Note | None = None, *, emptied: bool = False, **values: object
    ) -> None:
        key, now = delivery.post.key, self._clock.now_ms()

        async def unit(transaction: Transaction) -> bool:
            if not await transaction.rows(sql, id=key, fence=delivery.fence, **values):
                return False
            if note is not None:
                await note_on_post(transaction, key, note, now)
            if emptied:
                await end_emptied(transaction, [key], now)
            if values.get("state") == "sent":
                await drop_note(transaction, key, now)
                if delivery.post.revises is None:
                    await delete_if_withdrawn(transaction, key, now)
            return True

        if not await self._database.write(unit):
            raise LostLease(f"another daemon sends {key}", hint="nothing to do: the other daemon finishes it")

    async def _park_unreadable(self, key: str, fence: int, reason: str) -> None:
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            await transaction.run(
                """
                UPDATE outbox SET state = 'dead', reason = :reason, settled_ms = :now, lease_owner = '', lease_until = 0
                WHERE id = :id AND fence = :fence
                """,
                reason=f"its row can't be read: {reason}",
                now=now,
                id=key,
                fence=fence,
            )
            await note_on_post(transaction, key, Note.DEAD, now)

        await self._database.write(unit)
