"""Claims on conversations, with a lease and a fence, and the drafts that users see before a commit."""

from collections.abc import Awaitable, Callable, Iterable

from msgspec.structs import replace

from daemon.core.fencing import Nonce
from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports.services import Clock
from daemon.core.timetable import platform_time
from daemon.memory.bound_threads import bound_thread
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.forgetting import times_narrowed
from daemon.memory.queues.claims import next_conversation, next_overdue, require_claim, require_fence
from daemon.memory.queues.edits import RESTS
from daemon.memory.queues.internal_events import park_messages, readable_messages
from daemon.memory.queues.room_ways import WAY_OF_CONVERSATION, way_in
from daemon.memory.records import (
    Claim,
    Draft,
    InboxMessage,
    ProcessState,
    VisitState,
    Worker,
    conversation_columns,
    json_object,
    read_row,
)
from daemon.memory.worker_store import WorkerStore

_DAY_MS = 24 * 3600 * 1000


class Conversations(WorkerStore):
    """The claims of one worker on conversations."""

    def __init__(self, database: Database, clock: Clock, worker: Worker) -> None:
        super().__init__(database, clock, worker)
        self._began_ms = clock.now_ms()

    async def claim_next(self, *, dms_only: bool = False) -> Claim | None:
        """Claim the conversation that `next_conversation` chooses, with all its waiting messages in ts order.

        Returns None when nothing waits. A conversation whose lease lapsed comes with its draft, and so does a draft
        whose messages are gone. A paused message holds up its whole conversation: a newer one can't overtake it.
        """

        async def choose(transaction: Transaction, now: int) -> str | None:
            return await next_conversation(transaction, self._worker.scope, now, dms_only=dms_only)

        return await self.claim_chosen(choose)

    async def claim_overdue(self, deadline: float) -> Claim | None:
        """Claim a conversation that is crowded, or whose live message waits for more than `deadline` seconds."""

        async def choose(transaction: Transaction, now: int) -> str | None:
            return await next_overdue(transaction, self._worker.scope, now, self._late_ms(now, deadline))

        return await self.claim_chosen(choose)

    async def claim_chosen(self, choose: Callable[[Transaction, int], Awaitable[str | None]]) -> Claim | None:
        """Claim the conversation whose id `choose` returns for the present (ms), in the same transaction."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> Claim | None:
            id_ = await choose(transaction, now)
            return await self._claim(transaction, id_, now) if id_ else None

        return await self._database.write(unit)

    def _late_ms(self, now: int, deadline: float) -> int:
        """Return the moment (ms) before which messages are overdue, or -1 until the daemon has lived that long."""
        return now - int(deadline * 1000) if now - self._began_ms >= deadline * 1000 else -1

    async def _claim(self, transaction: Transaction, conversation: str, now: int) -> Claim:
        row = await transaction.one(
            f"""
            UPDATE conversations SET lease_owner = :owner, lease_until = :until, fence = fence + 1
            WHERE id = :id RETURNING *, {WAY_OF_CONVERSATION}
            """,  # noqa: S608 - a constant
            owner=self._worker.id,
            until=now + self._worker.lease_ms,
            id=conversation,
        )
        assert row is not None  # selected in this very transaction
        claimed = await transaction.rows(
            """
            UPDATE inbox SET state = 'claimed', attempts = attempts + 1, absorbed = 0
            WHERE conversation = :id AND state IN ('new', 'claimed') RETURNING *
            """,
            id=conversation,
        )
        draft = await transaction.one(
            "SELECT id, platform_ts FROM outbox WHERE conversation = :id AND state = 'drafting'", id=conversation
        )
        messages, unreadable = await readable_messages(transaction, claimed, now)
        try:
            state = read_row(ProcessState, row, params=json_object, process_memory=json_object)
        except Exception:  # noqa: BLE001 - it starts from the beginning, or no message could be answered here again
            state, unreadable = ProcessState(), (*unreadable, conversation)
        return Claim(
            conversation=ConversationKey.parse(conversation),
            owner=self._worker.id,
            fence=row["fence"],
            version=row["version"],
            audience=Audience.parse(row["audience"]),
            messages=_in_order(messages),
            draft=Draft(draft["id"], draft["platform_ts"]) if draft else None,
            state=state,
            visit_state=read_row(VisitState, row),
            outsider_spoke=bool(row["outsider_spoke"]),
            away_told_ms=row["away_told_ms"],
            cap_shown_day=row["cap_shown_day"],
            unreadable=unreadable,
            nonce=Nonce(row["nonce"], row["nonce_ms"]),
            narrowed=await times_narrowed(transaction, self._worker.workspace),
            forgotten=row["forgotten"],
            bound=await bound_thread(transaction, ConversationKey.parse(conversation)),
            way=way_in(row["way"]),
        )

    async def absorb_new_messages(self, claim: Claim) -> Claim:
        """Add the messages that arrived since the claim, without internal events. Raises LostLease."""

        async def unit(transaction: Transaction) -> list[sqlite3.Row]:
            await require_claim(transaction, claim)
            return await transaction.rows(
                """
                UPDATE inbox SET state = 'claimed', attempts = attempts + 1, absorbed = 1
                WHERE conversation = :id AND state IN ('new', 'claimed') AND state = 'new' AND modality = 'words'
                RETURNING *
                """,
                id=str(claim.conversation),
            )

        more = await self._database.write(unit)
        return replace(claim, messages=_in_order((*claim.messages, *map(InboxMessage.from_row, more))))

    async def correct_audience(self, claim: Claim, audience: Audience) -> Claim:
        """Give a claim and its messages the platform's present audience. Raises LostLease."""

        async def unit(transaction: Transaction) -> int:
            await require_fence(transaction, claim)
            await transaction.run(
                "UPDATE conversations SET audience = :audience WHERE id = :id",
                audience=str(audience),
                id=str(claim.conversation),
            )
            await transaction.run(
                """
                UPDATE inbox SET audience = :audience
                WHERE conversation = :id AND state IN ('new', 'claimed') AND state = 'claimed'
                """,
                audience=str(audience),
                id=str(claim.conversation),
            )
            return await times_narrowed(transaction, claim.conversation.workspace)

        return replace(claim, audience=audience, narrowed=await self._database.write(unit))

    async def has_new_messages(self, conversation: ConversationKey) -> bool:
        """Return whether the conversation has a message that no daemon has claimed yet."""
        row = await self._database.one(
            """
            SELECT 1 FROM inbox
            WHERE conversation = :id AND state IN ('new', 'claimed') AND state = 'new' AND modality = 'words' LIMIT 1
            """,
            id=str(conversation),
        )
        return row is not None

    async def stopped_messages(self, conversation: ConversationKey) -> frozenset[str]:
        """Return the ids of the claimed messages that a user stopped."""
        rows = await self._database.rows(
            """
            SELECT id FROM inbox
            WHERE conversation = :id AND state IN ('new', 'claimed') AND state = 'claimed' AND stopped = 1
            """,
            id=str(conversation),
        )
        return frozenset(row["id"] for row in rows)

    async def was_refused_lately(self, message: InboxMessage, reason: str) -> bool:
        """Return whether another message of this user in this room was refused for this reason within a day."""
        now, key = self._clock.now_ms(), message.perception.conversation
        row = await self._database.one(
            """
            SELECT 1 FROM inbox
            WHERE workspace = :workspace AND channel = :channel AND ts > :since AND author = :author
              AND state = 'ignored' AND reason = :reason AND settled_ms > :after AND soul = :soul LIMIT 1
            """,
            workspace=key.workspace,
            channel=key.channel,
            soul=key.soul,
            since=platform_time(now - _DAY_MS),
            author=message.perception.author,
            reason=reason,
            after=now - _DAY_MS,
        )
        return row is not None

    async def next_due_ms(self, *, dms_only: bool = False) -> int | None:
        """Return when the next waiting message may be claimed (ms), or None if none waits."""
        return await self._due_ms(
            f"""
            SELECT min(ready_ms) AS due FROM conversations
            WHERE soul = :soul AND workspace = :workspace AND waiting_ms IS NOT NULL
            {"AND place = 'dm'" if dms_only else ""}
            """  # noqa: S608  # literals of this module
        )

    async def next_overdue_ms(self, deadline: float) -> int | None:
        """Return when `claim_overdue` finds something (ms), as far as known now, or None if no live message waits."""
        now = self._clock.now_ms()
        late = self._late_ms(now, deadline)

        async def unit(transaction: Transaction) -> int | None:
            if await next_overdue(transaction, self._worker.scope, now, late):
                return now
            row = await transaction.one(
                """
                SELECT min(deadline_ms) AS since FROM conversations
                WHERE soul = :soul AND workspace = :workspace AND deadline_ms > :late
                """,
                late=late,
                **self._worker.scope,
            )
            if row is None or row["since"] is None:
                return None
            return max(int(row["since"]), self._began_ms) + int(deadline * 1000)

        return await self._database.read(unit)

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

    async def release(
        self, claim: Claim, *, retry_in: float = 0.0, reason: str = "", text_changed: bool = False
    ) -> None:
        """Release a claim with its messages unanswered, to be claimed again after `retry_in` seconds.

        This does not count as an attempt. With `text_changed` it counts as a cycle in vain: from the third on the
        messages rest until their text is stable (see `RESTS`). A lost claim is left alone.
        """
        now = self._clock.now_ms()
        due = now + int(retry_in * 1000)

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
                if text_changed:
                    await self._count_in_vain(transaction, claim, now)

        await self._database.write(unit)

    async def _count_in_vain(self, transaction: Transaction, claim: Claim, now: int) -> None:
        for message in claim.messages:
            await transaction.run(
                f"""
                UPDATE inbox SET voided = voided + 1, not_before = {RESTS.format("voided + 1")}
                WHERE id = :id AND state = 'new'
                """,  # noqa: S608  # literals of this package
                now=now,
                id=message.id,
            )

    async def park(self, claim: Claim, reason: str, *, reply_to: str, retry_in: float) -> bool:
        """Release a conversation whose handling failed unexpectedly, and return whether something was parked.

        This counts as an attempt. Messages claimed FAULTS times become `dead`, with a note in the thread `reply_to`
        that replaces an open draft. The others are claimed again after `retry_in` seconds.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> bool:
            return await park_messages(
                transaction, claim, reason, reply_to=reply_to, now=now, due=now + int(retry_in * 1000)
            )

        return await self._database.write(unit)

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
