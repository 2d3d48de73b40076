"""The one transaction that ends a cycle: state, turns, posts, jobs and spending stand or fall together."""

from collections.abc import Sequence

from daemon.core.errors import LostLease
from daemon.core.ports import Clock, LLMCall
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.state_history import store_path
from daemon.memory.knowledge.user_models import record_encounter
from daemon.memory.queues.approvals import store_approvals
from daemon.memory.queues.conversations import require_claim
from daemon.memory.queues.cross_posts import send_errand
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.intentions import cancel_intentions, store_intentions
from daemon.memory.queues.llm_calls import store_calls
from daemon.memory.records import Delivery, Speaks, Worker, as_json


class Superseded(LostLease):
    """A claimed message was edited or withdrawn while it was being answered; nothing was written, begin again."""


class Commits:
    """The end of cycles run by one worker."""

    def __init__(self, database: Database, clock: Clock, worker: Worker) -> None:
        self._database = database
        self._clock = clock
        self._worker = worker

    async def commit(self, effect: CycleEffect) -> Delivery | None:
        """End a cycle: everything it did becomes lasting at once, and its first post comes back claimed for sending.

        None: there is nothing to send, or an earlier post of the conversation has to go first. Raises LostLease when
        somebody else owns the conversation by now and Superseded when a message changed under the reply; either way
        nothing is written.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> Delivery | None:
            await require_claim(transaction, effect.claim)
            await _require_unchanged(transaction, effect)
            await _settle_inbox(transaction, effect, now)
            await _store_turns(transaction, effect, now)
            await self._store_posts(transaction, effect, now)
            await self._store_jobs(transaction, effect, now)
            await store_calls(transaction, effect.calls)
            await self._meet_people(transaction, effect, now)
            await _store_states(transaction, effect, now)
            await _end_claim(transaction, effect, now)
            return await self._claim_first_post(transaction, effect, now)

        return await self._database.write(unit)

    async def record_calls(self, calls: Sequence[LLMCall]) -> None:
        """Account for model calls of a cycle that ended without a commit."""
        if calls:
            await self._database.write(lambda transaction: store_calls(transaction, calls))

    async def _store_posts(self, transaction: Transaction, effect: CycleEffect, now: int) -> None:
        claim = effect.claim
        if not effect.parts:
            await transaction.run(
                """
                UPDATE outbox SET state = 'dropped', reason = 'the message it answered is gone', settled_ms = :now
                WHERE conversation = :id AND state = 'drafting'
                """,
                now=now,
                id=str(claim.conversation),
            )
        for part, body in enumerate(effect.parts):
            await transaction.run(
                """
                INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient,
                                    newer_than_ts, audience, approval, state, created_ms)
                VALUES (:id, :conversation, :soul, :workspace, :part, :last, :body, :reply_to, :recipient,
                        :newer_than_ts, :audience, :approval, 'pending', :now)
                ON CONFLICT (id) DO UPDATE SET state = 'pending', body = excluded.body, last = excluded.last,
                  approval = excluded.approval
                  WHERE outbox.state = 'drafting'
                """,
                id=claim.key(part),
                conversation=str(claim.conversation),
                soul=self._worker.soul,
                workspace=self._worker.workspace,
                part=part,
                last=int(part == len(effect.parts) - 1),
                body=body,
                reply_to=effect.reply_to,
                recipient=effect.recipient,
                newer_than_ts=effect.newer_than_ts,
                audience=str(claim.audience),
                approval=effect.approval.id if effect.approval and part == len(effect.parts) - 1 else None,
                now=now,
            )

    async def _meet_people(self, transaction: Transaction, effect: CycleEffect, now: int) -> None:
        names = {turn.author: turn.name for turn in effect.turns if turn.speaker is Speaks.PERSON}
        for person, name in names.items():
            await record_encounter(
                transaction,
                soul=self._worker.soul,
                workspace=self._worker.workspace,
                person=person,
                name=name,
                audience=effect.claim.audience,
                now=now,
                visit_silence_ms=effect.visit_timeout_ms,
            )

    async def _claim_first_post(self, transaction: Transaction, effect: CycleEffect, now: int) -> Delivery | None:
        if not effect.parts:
            return None
        row = await transaction.one(
            """
            UPDATE outbox SET state = 'sending', attempts = 1, fence = fence + 1,
                   lease_owner = :owner, lease_until = :until
            WHERE id = :id AND NOT EXISTS (
              SELECT 1 FROM outbox e WHERE e.conversation = outbox.conversation AND e.seq < outbox.seq
                                       AND e.state IN ('pending', 'sending')) RETURNING *
            """,
            owner=self._worker.id,
            until=now + self._worker.lease_ms,
            id=effect.claim.key(0),
        )
        return Delivery.from_row(row, doubtful=False) if row else None

    async def _store_jobs(self, transaction: Transaction, effect: CycleEffect, now: int) -> None:
        for kind in effect.jobs:
            await transaction.run(
                """
                INSERT INTO jobs (kind, conversation, soul, workspace, turn, state, created_ms)
                VALUES (:kind, :conversation, :soul, :workspace, :turn, 'ready', :now)
                ON CONFLICT (conversation, kind) WHERE state IN ('ready', 'running') DO UPDATE SET turn = excluded.turn
                """,
                kind=kind,
                turn=effect.claim.version + 1,
                conversation=str(effect.claim.conversation),
                soul=self._worker.soul,
                workspace=self._worker.workspace,
                now=now,
            )


async def _require_unchanged(transaction: Transaction, effect: CycleEffect) -> None:
    rows = await transaction.rows(
        """
        SELECT id, revision FROM inbox
        WHERE conversation = :id AND state IN ('new', 'claimed') AND state = 'claimed' -- the first finds the index
        """,
        id=str(effect.claim.conversation),
    )
    if {(row["id"], row["revision"]) for row in rows} != {(one.id, one.revision) for one in effect.claim.messages}:
        raise Superseded("a message changed while it was being answered", hint="nothing to do: it is answered anew")


async def _settle_inbox(transaction: Transaction, effect: CycleEffect, now: int) -> None:
    for one in effect.answered:
        await transaction.run(
            """
            UPDATE inbox SET state = 'answered', reason = '', answered_by = :key, settled_ms = :now WHERE id = :id
            """,
            key=effect.claim.key(0) if effect.parts else None,
            now=now,
            id=one.id,
        )
    for row_id, dismissal in effect.dismissed.items():
        await transaction.run(
            "UPDATE inbox SET state = :state, reason = :reason, settled_ms = :now WHERE id = :id",
            state="stale" if dismissal.stale else "ignored",
            reason=dismissal.reason,
            now=now,
            id=row_id,
        )
    await transaction.run(  # what waits for a cycle of its own was not tried: it must not count as having failed
        """
        UPDATE inbox SET state = 'new', attempts = max(0, attempts - 1)
        WHERE conversation = :id AND state IN ('new', 'claimed') AND state = 'claimed'
        """,
        id=str(effect.claim.conversation),
    )


async def _store_states(transaction: Transaction, effect: CycleEffect, now: int) -> None:
    """How the processes went, what is intended from here on, and what permission is asked for."""
    claim = effect.claim
    await store_path(transaction, claim.conversation, effect.trace_id, effect.path, now)
    await cancel_intentions(transaction, claim.conversation, effect.cancelled, now)
    if effect.intentions and claim.messages:
        newest = claim.messages[-1]
        await store_intentions(
            transaction,
            conversation=claim.conversation,
            place=newest.perception.place,
            audience=claim.audience,
            intentions=effect.intentions,
            now=now,
            most=effect.most_intentions,
        )
    if effect.cross_post:
        name = effect.turns[-1].name if effect.turns else claim.conversation.soul
        await send_errand(transaction, effect.cross_post, name=name, trace_id=effect.trace_id, now=now)
    if effect.approval:
        await store_approvals(
            transaction,
            conversation=claim.conversation,
            turn=claim.version + 1,
            audience=claim.audience,
            approvals=(effect.approval,),
            now=now,
        )


async def _end_claim(transaction: Transaction, effect: CycleEffect, now: int) -> None:
    state, visit_state = effect.state, effect.visit_state
    await transaction.run(
        """
        UPDATE conversations SET version = version + 1, process = :process, previous = :previous,
               invocations = :invocations, params = :params, process_memory = :process_memory,
               visit = :visit, exchanges = :exchanges, spoken_ms = :spoken_ms, last_ms = :now,
               lease_owner = '', lease_until = 0, taking_part = CASE WHEN :spoke THEN 1 ELSE taking_part END
        WHERE id = :id
        """,
        process=state.process,
        previous=state.previous,
        invocations=state.invocations,
        params=as_json(state.params),
        process_memory=as_json(state.process_memory),
        visit=visit_state.visit,
        exchanges=visit_state.exchanges,
        spoken_ms=visit_state.spoken_ms,
        now=now,
        spoke=any(turn.speaker is Speaks.SOUL for turn in effect.turns),  # a refusal takes no part in anything
        id=str(effect.claim.conversation),
    )


async def _store_turns(transaction: Transaction, effect: CycleEffect, now: int) -> None:
    for turn in effect.turns:
        await transaction.run(
            """
            INSERT INTO turns (conversation, speaker, author, name, ts, body, thought, audience, trace_id, said_ms)
            VALUES (:conversation, :speaker, :author, :name, :ts, :body, :thought, :audience, :trace_id, :now)
            """,
            conversation=str(effect.claim.conversation),
            speaker=turn.speaker,
            author=turn.author,
            name=turn.name,
            ts=turn.ts,
            body=turn.body,
            thought=as_json(turn.thought),
            audience=str(effect.claim.audience),
            trace_id=effect.trace_id,
            now=now,
        )
