"""Who works on which conversation: claims with a lease and a fence, and the drafts that show before a commit."""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import replace

from daemon.core.errors import LostLease
from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports import Clock
from daemon.memory.database import Database, Transaction
from daemon.memory.records import Claim, Draft, InboxMessage, ProcessState, VisitState, Worker


class Conversations:
    """Claims on conversations, made by one worker."""

    def __init__(self, database: Database, clock: Clock, worker: Worker) -> None:
        self._database = database
        self._clock = clock
        self._worker = worker

    async def claim_next(self) -> Claim | None:
        """Claim the free conversation whose oldest message waited longest, with all its waiting messages in ts order.

        A claim whose lease ran out is taken over, draft and all; so is a draft whose messages are gone. A pause holds
        for a conversation as a whole, or a newer message would overtake the paused. None: nothing waits.
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
                soul=self._worker.soul,
                workspace=self._worker.workspace,
            )
            return await self._take(transaction, row["id"], now) if row else None

        return await self._database.write(unit)

    async def _take(self, transaction: Transaction, conversation: str, now: int) -> Claim:
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
            state=ProcessState(
                process=row["process"],
                previous=row["previous"],
                invocations=row["invocations"],
                params=json.loads(row["params"]),
                process_memory=json.loads(row["process_memory"]),
            ),
            visit_state=VisitState(visit=row["visit"], exchanges=row["exchanges"], spoken_ms=row["spoken_ms"]),
        )

    async def absorb_new_messages(self, claim: Claim) -> Claim:
        """The claim with whatever else was said in its conversation meanwhile. Raises LostLease.

        What is no words (a decision, a thing fallen due) is not for a reply under way: it waits for a cycle of its own.
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

    async def anything_new(self, conversation: ConversationKey) -> bool:
        """Whether words wait there that nobody has claimed yet, whichever daemon heard them."""

        async def unit(transaction: Transaction) -> bool:
            row = await transaction.one(
                """
                SELECT 1 FROM inbox
                WHERE conversation = :id AND state IN ('new', 'claimed') AND state = 'new' AND modality = 'words'
                LIMIT 1
                """,
                id=str(conversation),
            )
            return row is not None

        return await self._database.read(unit)

    async def next_due_ms(self) -> int | None:
        """When the next waiting message may be claimed (a lease running out or a pause ending), for whoever waits."""

        async def unit(transaction: Transaction) -> int | None:
            row = await transaction.one(
                """
                SELECT min(max(w.not_before, c.lease_until)) AS due FROM (
                  SELECT conversation, max(not_before) AS not_before FROM (
                    SELECT conversation, not_before FROM inbox WHERE state IN ('new', 'claimed')
                    UNION ALL SELECT conversation, 0 FROM outbox WHERE state = 'drafting'
                  ) GROUP BY conversation
                ) w JOIN conversations c ON c.id = w.conversation WHERE c.soul = :soul AND c.workspace = :workspace
                """,
                soul=self._worker.soul,
                workspace=self._worker.workspace,
            )
            return row["due"] if row else None

        return await self._database.read(unit)

    async def renew(self, claim: Claim) -> None:
        """Hold a claim for another lease. Raises LostLease when somebody else has it by now."""

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

        It does not count as an attempt. A claim that somebody else has taken meanwhile is left as it is.
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
        """Note that a visible draft of the reply is about to be opened. Raises LostLease."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            await require_claim(transaction, claim)
            await transaction.run(
                """
                INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient,
                                    newer_than_ts, audience, state, draft_lost, created_ms)
                VALUES (:id, :conversation, :soul, :workspace, 0, 1, '', :reply_to, :recipient,
                        :newer_than_ts, :audience, 'drafting', 1, :now)
                ON CONFLICT (id) DO NOTHING
                """,
                id=claim.key(0),
                conversation=str(claim.conversation),
                soul=self._worker.soul,
                workspace=self._worker.workspace,
                reply_to=reply_to,
                recipient=recipient,
                newer_than_ts=newer_than_ts,
                audience=str(claim.audience),
                now=now,
            )

        await self._database.write(unit)

    async def draft_opened(self, claim: Claim, ts: str) -> None:
        """Note where the draft is. Raises LostLease."""

        async def unit(transaction: Transaction) -> None:
            await require_claim(transaction, claim)
            await transaction.run(
                "UPDATE outbox SET platform_ts = :ts, draft_lost = 0 WHERE id = :id AND state = 'drafting'",
                ts=ts,
                id=claim.key(0),
            )

        await self._database.write(unit)

    async def draft_refused(self, claim: Claim) -> None:
        """Note that the draft surely does not exist. Raises LostLease."""

        async def unit(transaction: Transaction) -> None:
            await require_claim(transaction, claim)
            await transaction.run("DELETE FROM outbox WHERE id = :id AND state = 'drafting'", id=claim.key(0))

        await self._database.write(unit)


def _in_order(messages: Iterable[InboxMessage]) -> tuple[InboxMessage, ...]:
    return tuple(sorted(messages, key=lambda one: one.perception.said_at))


async def require_claim(transaction: Transaction, claim: Claim) -> None:
    """Raises LostLease when the claim was committed, given back, or taken over by somebody else since."""
    row = await transaction.one(
        "SELECT fence, lease_owner FROM conversations WHERE id = :id", id=str(claim.conversation)
    )
    if row is None or (row["fence"], row["lease_owner"]) != (claim.fence, claim.owner):
        raise LostLease(
            f"{claim.conversation} is not ours any more", hint="nothing to do: it is finished, or goes on elsewhere"
        )
