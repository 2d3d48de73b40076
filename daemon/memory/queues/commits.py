"""The one transaction that ends a cycle and stores its state, turns, posts, jobs and model calls."""

from collections.abc import Sequence

from daemon.core.errors import LostLease
from daemon.core.ports.services import LLMCall
from daemon.memory.database import Transaction
from daemon.memory.expectations.settling import events_of, settle
from daemon.memory.knowledge.soul_states import store_path
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.knowledge.user_models import LEARNS_OF_PEOPLE, keep_zones, note_to_look_through, record_encounter
from daemon.memory.knowledge.visits import note_visit
from daemon.memory.queues.approvals import store_approval
from daemon.memory.queues.claims import require_claim
from daemon.memory.queues.cycle_effect import AwayNote, CycleEffect
from daemon.memory.queues.ended_visits import note_end_of_visit
from daemon.memory.queues.feedback import store_nod, take_draft_away
from daemon.memory.queues.handoffs import enqueue_cross_post, hand_over
from daemon.memory.queues.initiatives import as_may_be_said, quiet_of_posts
from daemon.memory.queues.intentions import cancel_intentions, store_intentions
from daemon.memory.queues.jobs import enqueue_job
from daemon.memory.queues.outbox import DOUBT_HOLDS_MS
from daemon.memory.queues.person_rooms import require_no_narrowing, require_rooms
from daemon.memory.queues.session_titles import note_title
from daemon.memory.queues.stops import Stopped, lapse
from daemon.memory.queues.tick_ends import CycleEnded, settle_ticks
from daemon.memory.records import Claim, Delivery, Speaks, Turn, as_json, conversation_columns
from daemon.memory.retrieval.lanes import keep_surfaced
from daemon.memory.spending.reservations import store_calls
from daemon.memory.stream.keeping import ThoughtPlace, store_thoughts
from daemon.memory.worker_store import WorkerStore


class Superseded(LostLease):
    """A change of a claimed or earlier message during the cycle, which wrote nothing. A new one is due."""


class Commits(WorkerStore):
    """The commits of one worker's cycles."""

    async def commit(self, effect: CycleEffect) -> Delivery | None:
        """Store the whole effect of a cycle, and return its first post, claimed for sending.

        Returns None if there is nothing to send, or an earlier post of the conversation has to go first. On an error
        nothing is written. LostLease: another worker holds the conversation. Superseded: a message changed. Stopped: a
        user stopped the cycle. ReadersChanged: the recipient left a room that the reply may rest on, or a channel was
        made private.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction, effect: CycleEffect = effect) -> Delivery | None:
            await require_claim(transaction, effect.claim)
            whole, effect = effect, await as_may_be_said(transaction, effect, now)
            await _require_unchanged(transaction, effect)
            await require_no_narrowing(transaction, self._worker.workspace, effect.claim.narrowed)
            await require_rooms(transaction, self._worker.workspace, effect.recipient, effect.rooms)
            await _settle_inbox(transaction, effect, now)
            seqs = await store_turns(
                transaction,
                effect.turns,
                conversation=effect.claim.conversation,
                audience=effect.claim.audience,
                trace_id=effect.trace_id,
                now=now,
            )
            came = events_of((one.perception for one in effect.answered), effect.used_tools, talk=bool(effect.turns))
            await settle(transaction, effect.claim.conversation, came, effect.given, now)
            if effect.thoughts is not None:
                await store_thoughts(transaction, effect.thoughts, _thinking_of(effect), seqs, now)
            await self._store_posts(transaction, effect, now)
            await note_title(transaction, effect, now)
            if effect.asker is not None:
                for act in effect.acts:
                    await act.perform(transaction, effect.asker, now)
            thought_before = effect.thoughts.readers if effect.thoughts is not None else None
            settled = CycleEnded(effect.dismissed, thought_before, silenced=effect is not whole)
            await settle_ticks(transaction, effect.claim.messages, settled, now)
            ended = await _note_visit(transaction, effect, now)
            for kind in (*effect.jobs, *(effect.visit_note.then if ended else ())):
                turn, lull = effect.claim.version + 1, effect.lulls.get(kind, 0)
                await enqueue_job(transaction, kind, effect.claim.conversation, turn, now, lull_ms=lull)
            if LEARNS_OF_PEOPLE in effect.jobs:
                said = {turn.author: seq for turn, seq in zip(effect.turns, seqs, strict=True) if _by_person(turn)}
                await note_to_look_through(transaction, effect.claim.conversation, said)
            await store_calls(transaction, effect.calls)
            await keep_surfaced(transaction, effect.trace_id, effect.surfaced, effect.known_facts, now)
            await self._record_encounters(transaction, effect, now)
            await keep_zones(transaction, self._worker.workspace, effect.zones, now)
            await _store_states(transaction, effect, now)
            await _end_claim(transaction, effect, now)
            if effect.handoff is not None:
                await hand_over(transaction, effect.claim.conversation, effect.handoff, now)
            return await self._claim_first_post(transaction, effect, now)

        return await self._database.write(unit)

    async def record_calls(self, calls: Sequence[LLMCall]) -> None:
        """Record the model calls of a cycle that ended without a commit."""
        if calls:
            await self._database.write(lambda transaction: store_calls(transaction, calls))

    async def _store_posts(self, transaction: Transaction, effect: CycleEffect, now: int) -> None:
        claim = effect.claim
        if effect.nod is not None:
            await store_nod(transaction, effect, effect.nod, now)
        elif effect.silent and effect.away is None:
            await take_draft_away(transaction, claim.conversation)
        elif not effect.parts and effect.away is None:
            await transaction.run(
                """
                UPDATE outbox SET state = 'dropped', reason = 'its message was deleted', settled_ms = :now
                WHERE conversation = :id AND state = 'drafting'
                """,
                now=now,
                id=str(claim.conversation),
            )
        quiet = await quiet_of_posts(transaction, effect)
        for part, body in enumerate(effect.parts):
            last = part == len(effect.parts) - 1
            await transaction.insert(
                "outbox",
                """
                ON CONFLICT (id) DO UPDATE SET state = 'pending', body = excluded.body, last = excluded.last,
                  recipient = excluded.recipient, approval = excluded.approval, stopped = excluded.stopped,
                  dates = excluded.dates, answers = excluded.answers
                WHERE outbox.state = 'drafting'
                """,
                id=claim.key(part),
                part=part,
                last=int(last),
                body=body,
                reply_to=effect.reply_to,
                recipient=effect.recipient,
                newer_than_ts=effect.newer_than_ts,
                audience=str(claim.audience),
                dates=as_json({shown: ms for shown, ms in effect.dates.items() if shown in body}),
                approval=effect.approval.id if effect.approval and last else None,
                answers=as_json(list(effect.answers)) if effect.answers and last else "",
                state="pending",
                stopped="closing" if effect.stops else "",
                unasked=int(effect.unasked),
                quiet=quiet,
                created_ms=now,
                **conversation_columns(claim.conversation),
            )

        await self._store_files(transaction, effect, now)
        if effect.away is not None:
            before = len(effect.parts) + len(effect.files) + (effect.nod is not None)
            await _store_away_note(transaction, claim, before, effect.away, now)

    async def _store_files(self, transaction: Transaction, effect: CycleEffect, now: int) -> None:
        for part, file in enumerate(effect.files, len(effect.parts)):
            await transaction.insert(
                "outbox",
                id=effect.claim.key(part),
                part=part,
                last=0,
                body=file.body,
                file=file.name,
                reply_to=effect.reply_to,
                recipient=effect.recipient,
                newer_than_ts=effect.newer_than_ts,
                audience=str(effect.claim.audience),
                state="pending",
                created_ms=now,
                **conversation_columns(effect.claim.conversation),
            )

    async def _record_encounters(self, transaction: Transaction, effect: CycleEffect, now: int) -> None:
        names = {turn.author: turn.name for turn in effect.turns if _by_person(turn)}
        for person, name in names.items():
            await record_encounter(
                transaction,
                soul=self._worker.soul,
                workspace=self._worker.workspace,
                person=person,
                name=name,
                audience=effect.claim.audience,
                now=now,
                visit_timeout_ms=effect.visit_timeout_ms,
            )

    async def _claim_first_post(self, transaction: Transaction, effect: CycleEffect, now: int) -> Delivery | None:
        if not effect.parts and effect.away is None and effect.nod is None:
            return None
        row = await transaction.one(
            """
            UPDATE outbox SET state = 'sending', attempts = 1, fence = fence + 1,
                   lease_owner = :owner, lease_until = :until
            WHERE id = :id AND NOT EXISTS (
              SELECT 1 FROM outbox e WHERE e.conversation = outbox.conversation AND e.seq < outbox.seq
                                       AND e.state IN ('pending', 'sending')
                                       AND coalesce(e.doubted_ms, :now) > :now - :doubt_holds) RETURNING *
            """,
            now=now,
            doubt_holds=DOUBT_HOLDS_MS,
            owner=self._worker.id,
            until=now + self._worker.lease_ms,
            id=effect.claim.key(0),
        )
        return Delivery.from_row(row, doubtful=False) if row else None


def _thinking_of(effect: CycleEffect) -> ThoughtPlace:
    claim, person = effect.claim, effect.asker.person if effect.asker else ""
    return ThoughtPlace(claim.conversation, claim.audience, effect.trace_id, person, effect.calls)


def _by_person(turn: Turn) -> bool:
    return turn.speaker is Speaks.PERSON and not turn.passing


async def _store_away_note(transaction: Transaction, claim: Claim, part: int, note: AwayNote, now: int) -> None:
    """Post the note, in place of an open draft if there is no reply."""
    await transaction.insert(
        "outbox",
        """
        ON CONFLICT (id) DO UPDATE SET state = 'pending', body = excluded.body, last = excluded.last
        WHERE outbox.state = 'drafting'
        """,
        id=claim.key(part),
        part=part,
        last=0,
        body=note.text,
        reply_to=note.reply_to,
        recipient=note.recipient,
        newer_than_ts=note.newer_than_ts,
        audience=str(claim.audience),
        state="pending",
        created_ms=now,
        **conversation_columns(claim.conversation),
    )
    await transaction.run(
        "UPDATE conversations SET away_told_ms = :now WHERE id = :id", now=now, id=str(claim.conversation)
    )


async def _require_unchanged(transaction: Transaction, effect: CycleEffect) -> None:
    rows = await transaction.rows(
        """
        SELECT c.forgotten, i.id, i.revision, i.stopped FROM conversations c
        LEFT JOIN inbox i ON i.conversation = c.id
          AND i.state IN ('new', 'claimed') AND i.state = 'claimed' -- the first finds the index
        WHERE c.id = :id
        """,
        id=str(effect.claim.conversation),
    )
    if not effect.stops and any(row["stopped"] for row in rows):
        raise Stopped("a person stopped it", hint="nothing to do: the reply ends as it stands")
    claimed = {(message.id, message.revision) for message in effect.claim.messages}
    if {(row["id"], row["revision"]) for row in rows if row["id"] is not None} != claimed:
        raise Superseded("a message changed during its reply", hint="nothing to do: the reply is made anew")
    if any(row["forgotten"] != effect.claim.forgotten for row in rows):  # the cycle may have read what is gone
        raise Superseded("an earlier message changed during a reply", hint="nothing to do: the reply is made anew")


async def _settle_inbox(transaction: Transaction, effect: CycleEffect, now: int) -> None:
    for message in effect.answered:
        await transaction.run(
            "UPDATE inbox SET state = 'answered', reason = :why, answered_by = :key, settled_ms = :now WHERE id = :id",
            why=("the soul nodded" if effect.nod else "the soul said nothing") if effect.silent else "",
            key=effect.claim.key(0) if effect.parts or effect.nod else None,
            now=now,
            id=message.id,
        )
    for row_id, dismissal in effect.dismissed.items():
        await transaction.run(
            "UPDATE inbox SET state = :state, reason = :reason, settled_ms = :now WHERE id = :id",
            state="stale" if dismissal.stale else "ignored",
            reason=dismissal.reason,
            now=now,
            id=row_id,
        )
    await transaction.run(  # the rest waits for a cycle of its own and was not tried: it does not count as an attempt
        """
        UPDATE inbox SET state = 'new', attempts = max(0, attempts - 1)
        WHERE conversation = :id AND state IN ('new', 'claimed') AND state = 'claimed'
        """,
        id=str(effect.claim.conversation),
    )


async def _store_states(transaction: Transaction, effect: CycleEffect, now: int) -> None:
    """Store the path, the intentions, the cross-post and the question for permission."""
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
        await enqueue_cross_post(transaction, effect.cross_post, name=name, trace_id=effect.trace_id, now=now)
    await lapse(transaction, effect.lapses, now)
    if effect.approval:
        await store_approval(
            transaction,
            effect.approval,
            conversation=claim.conversation,
            turn=claim.version + 1,
            audience=claim.audience,
            now=now,
        )


async def _note_visit(transaction: Transaction, effect: CycleEffect, now: int) -> bool:
    where, note = effect.claim.conversation, effect.visit_note
    ended = await note_visit(transaction, where, note, len(effect.turns), now)
    if ended and note.wakes:
        await note_end_of_visit(transaction, where, now)
    return ended


async def _end_claim(transaction: Transaction, effect: CycleEffect, now: int) -> None:
    state, visit_state = effect.state, effect.visit_state
    await transaction.run(
        """
        UPDATE conversations SET version = version + 1, process = :process, previous = :previous,
               invocations = :invocations, params = :params, process_memory = :process_memory,
               visit = :visit, exchanges = :exchanges, spoken_ms = :spoken_ms, last_ms = :now,
               lease_owner = '', lease_until = 0, taking_part = CASE WHEN :spoke THEN 1 ELSE taking_part END,
               outsider_spoke = CASE WHEN :outsider THEN 1 ELSE outsider_spoke END, members_only = :members_only,
               nonce = :nonce, nonce_ms = :nonce_ms,
               cap_shown_day = CASE :cap_shown_day WHEN '' THEN cap_shown_day ELSE :cap_shown_day END
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
        spoke=any(turn.speaker is Speaks.SOUL for turn in effect.turns),  # an apology alone has no turn of the soul
        outsider=effect.outsider_spoke,
        members_only=effect.members_only,
        nonce=effect.nonce.code,
        nonce_ms=effect.nonce.drawn_ms,
        cap_shown_day=effect.cap_shown_day,
        id=str(effect.claim.conversation),
    )
