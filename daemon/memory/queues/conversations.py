"""Claims on conversations, with a lease and a fence, and the drafts that users see before a commit."""

import json
from collections.abc import Iterable
from dataclasses import replace

from daemon.core.errors import LostLease
from daemon.core.perception import Audience, ConversationKey
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.records import Claim, Draft, InboxMessage, ProcessState, VisitState, conversation_columns, read_row
from daemon.memory.worker_store import WorkerStore


class Conversations(WorkerStore):
    """Claims conversations for one worker."""

    async def claim_next(self) -> Claim | None:
        """Claim the free conversation whose oldest message waited longest, with all its waiting messages in ts order.

        This includes a conversation whose lease lapsed, with its draft, and a draft whose messages are gone. A paused
        message holds up its whole conversation, so that a newer one can't overtake it. None when nothing waits.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> Claim | None:
            row = await transaction.one(
                """
                SELECT w.conversation AS id FROM (
                  SELECT conversation, received_ms AS since, not_before FROM inbox WHERE state IN ('new', 'claimed')
                  UNION ALL SELECT conversation, created_ms, 0 FROM outbox WHERE state = 'drafting'
                ) w JOIN conversations c ON c.id = w.conversation
                WHERE c.lease_until <= :now AND c.soul = :soul AND c.workspace = :workspace
                GROUP BY w.conversation HAVING max(w.not_before) <= :now ORDER BY min(w.since) LIMIT 1
                """,
                now=now,
                **self._worker.scope,
            )
            return await self._claim(transaction, row["id"], now) if row else None

        return await self._database.write(unit)

    async def _claim(self, transaction: Transaction, conversation: str, now: int) -> Claim:
        row = await transaction.one(
            """
            UPDATE conversations SET lease_owner = :owner, lease_until = :until, fence = fence + 1
            WHERE id = :id RETURNING *
            """,
            owner=self._worker.id,
            until=now + self._worker.lease_ms,
            id=conversation,
        )
        assert row is not None  # selected in this very transaction
        claimed = await transaction.rows(
            """
            UPDATE inbox SET state = 'claimed', attempts = attempts + 1
            WHERE conversation = :id AND state IN ('new', 'claimed') RETURNING *
            """,
            id=conversation,
        )
        draft = await transaction.one(
            "SELECT id, platform_ts FROM outbox WHERE conversation = :id AND state = 'drafting'", id=conversation
        )
        return Claim(
            conversation=ConversationKey.parse(conversation),
            owner=self._worker.id,
            fence=row["fence"],
            version=row["version"],
            audience=Audience.parse(row["audience"]),
            messages=_in_order(InboxMessage.from_row(row) for row in claimed),
            draft=Draft(draft["id"], draft["platform_ts"]) if draft else None,
            state=read_row(ProcessState, row, params=json.loads, process_memory=json.loads),
            visit_state=read_row(VisitState, row),
        )

    async def absorb_new_messages(self, claim: Claim) -> Claim:
        """Add the messages that arrived in the conversation since the claim. Raises LostLease.

        Internal events (a decision, a due intention) wait for a cycle of their own.
        """

        async def unit(transaction: Transaction) -> list[sqlite3.Row]:
            await require_claim(transaction, claim)
            return await transaction.rows(
                """
                UPDATE inbox SET state = 'claimed', attempts = attempts + 1
                WHERE conversation = :id AND state IN ('new', 'claimed') AND state = 'new' AND modality = 'words'
                RETURNING *
                """,
                id=str(claim.conversation),
            )

        more = await self._database.write(unit)
        return replace(claim, messages=_in_order((*claim.messages, *map(InboxMessage.from_row, more))))

    async def has_new_messages(self, conversation: ConversationKey) -> bool:
        """Whether the conversation has a message that is not claimed yet, received by any daemon."""
        row = await self._database.one(
            """
            SELECT 1 FROM inbox
            WHERE conversation = :id AND state IN ('new', 'claimed') AND state = 'new' AND modality = 'words' LIMIT 1
            """,
            id=str(conversation),
        )
        return row is not None

    async def next_due_ms(self) -> int | None:
        """When the next waiting message may be claimed, after a lease lapses or a pause ends; None when none waits."""
        return await self._due_ms(
            """
            SELECT min(max(w.not_before, c.lease_until)) AS due FROM (
              SELECT conversation, max(not_before) AS not_before FROM (
                SELECT conversation, not_before FROM inbox WHERE state IN ('new', 'claimed')
                UNION ALL SELECT conversation, 0 FROM outbox WHERE state = 'drafting'
              ) GROUP BY conversation
            ) w JOIN conversations c ON c.id = w.conversation WHERE c.soul = :soul AND c.workspace = :workspace
            """
        )

    async def renew(self, claim: Claim) -> None:
        """Hold a claim for another lease. Raises LostLease."""

        async def unit(transaction: Transaction) -> None:
            await require_claim(transaction, claim)
            await transaction.run(
                "UPDATE conversations SET lease_until = :until WHERE id = :id",
                until=self._clock.now_ms() + self._worker.lease_ms,
                id=str(claim.conversation),
            )

        await self._database.write(unit)

    async def release(self, claim: Claim, *, retry_in: float = 0.0, reason: str = "") -> None:
        """Give a conversation back with its messages unanswered, to be claimed again after `retry_in` seconds.

        It does not count as an attempt. A lost claim is left as it is.
        """
        due = self._clock.now_ms() + int(retry_in * 1000)

        async def unit(transaction: Transaction) -> None:
            row = await transaction.one(
                """
                UPDATE conversations SET lease_until = 0, lease_owner = ''
                WHERE id = :id AND fence = :fence AND lease_owner = :owner RETURNING id
                """,
                id=str(claim.conversation),
                fence=claim.fence,
                owner=claim.owner,
            )
            if row is not None:
                await transaction.run(
                    """
                    UPDATE inbox SET state = 'new', not_before = :due, reason = :reason, attempts = max(0, attempts - 1)
                    WHERE conversation = :id AND state IN ('new', 'claimed') AND state = 'claimed'
                    """,
                    due=due,
                    reason=reason,
                    id=str(claim.conversation),
                )

        await self._database.write(unit)

    async def begin_draft(self, claim: Claim, *, reply_to: str, recipient: str, newer_than_ts: str) -> None:
        """Record that a visible draft of the reply is about to be opened. Raises LostLease."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            await require_claim(transaction, claim)
            await transaction.insert(
                "outbox",
                "ON CONFLICT (id) DO NOTHING",
                id=claim.key(0),
                part=0,
                last=1,
                body="",
                reply_to=reply_to,
                recipient=recipient,
                newer_than_ts=newer_than_ts,
                audience=str(claim.audience),
                state="drafting",
                draft_lost=1,
                created_ms=now,
                **conversation_columns(claim.conversation),
            )

        await self._database.write(unit)

    async def draft_opened(self, claim: Claim, ts: str) -> None:
        """Store the ts of the draft. Raises LostLease."""

        async def unit(transaction: Transaction) -> None:
            await require_claim(transaction, claim)
            await transaction.run(
                "UPDATE outbox SET platform_ts = :ts, draft_lost = 0 WHERE id = :id AND state = 'drafting'",
                ts=ts,
                id=claim.key(0),
            )

        await self._database.write(unit)

    async def draft_refused(self, claim: Claim) -> None:
        """Record that the platform refused the draft and shows none. Raises LostLease."""

        async def unit(transaction: Transaction) -> None:
            await require_claim(transaction, claim)
            await transaction.run("DELETE FROM outbox WHERE id = :id AND state = 'drafting'", id=claim.key(0))

        await self._database.write(unit)


def _in_order(messages: Iterable[InboxMessage]) -> tuple[InboxMessage, ...]:
    return tuple(sorted(messages, key=lambda message: message.perception.said_at))


async def require_claim(transaction: Transaction, claim: Claim) -> None:
    """Raises LostLease when the claim was committed or released, or another worker took it over."""
    row = await transaction.one(
        "SELECT fence, lease_owner FROM conversations WHERE id = :id", id=str(claim.conversation)
    )
    if row is None or (row["fence"], row["lease_owner"]) != (claim.fence, claim.owner):
        raise LostLease(
            f"this daemon no longer holds {claim.conversation}",
            hint="nothing to do: its reply is finished, or another daemon works on it",
        )
