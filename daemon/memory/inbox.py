"""What arrived: every utterance once, durable before it is acknowledged, with a reason when it is not answered.

Keyed by soul, workspace, channel and ts, because one mention makes two events with different ids; the ids of events are
kept as well, so that a repeated edit or button is told from a new one (design, section 3).
"""

from collections.abc import Callable

from daemon.memory.database import Database, Transaction
from daemon.memory.records import ASIDE
from daemon.perception import ConversationKey
from daemon.ports import Acceptance, Clock, Emit, Feedback, Revision, Utterance, Withdrawal

_DELIVERIES_KEPT_MS = 48 * 3600 * 1000  # Slack repeats within minutes, catch-up reads a day


class Inbox:
    """The store's side of the `Intake` port."""

    def __init__(self, database: Database, clock: Clock, emit: Emit, on_accepted: Callable[[], None]) -> None:
        self._database = database
        self._clock = clock
        self._emit = emit
        self._on_accepted = on_accepted

    async def accept(self, arrival: Utterance | Revision | Withdrawal | Feedback) -> Acceptance:
        """Store an arrival once; durable when it returns. Raises StoreError when nothing was stored."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> tuple[Acceptance, str]:
            if not await _first_delivery(transaction, arrival, now):
                return Acceptance.DUPLICATE, "event repeated"
            match arrival:
                case Utterance():
                    return await _hear(transaction, arrival, now)
                case Revision():
                    return await _revise(transaction, arrival)
                case Withdrawal():
                    return await _withdraw(transaction, arrival, now)
                case Feedback():
                    return await _take_feedback(transaction, arrival, now)

        acceptance, reason = await self._database.write(unit, within=2.0)
        if acceptance is Acceptance.ACCEPTED:
            self._on_accepted()
        self._emit(f"inbox.{acceptance}", kind=type(arrival).__name__, reason=reason, event=arrival.event_id)
        return acceptance

    async def heard_until(self, soul: str, workspace: str) -> str | None:
        """The ts up to which the platform was heard without a gap."""

        async def unit(transaction: Transaction) -> str | None:
            row = await transaction.one(
                "SELECT ts FROM watermarks WHERE soul = :soul AND workspace = :workspace",
                soul=soul,
                workspace=workspace,
            )
            return row["ts"] if row else None

        return await self._database.read(unit)

    async def confirm_heard(self, soul: str, workspace: str, ts: str) -> None:
        """Move the mark forward, never back; also forgets event ids too old to come again."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            await transaction.run(
                """
                INSERT INTO watermarks (soul, workspace, ts, updated_ms) VALUES (:soul, :workspace, :ts, :now)
                ON CONFLICT (soul, workspace) DO UPDATE SET ts = excluded.ts, updated_ms = excluded.updated_ms
                WHERE CAST(excluded.ts AS REAL) > CAST(watermarks.ts AS REAL)
                """,
                soul=soul,
                workspace=workspace,
                ts=ts,
                now=now,
            )
            await transaction.run("DELETE FROM deliveries WHERE seen_ms < :old", old=now - _DELIVERIES_KEPT_MS)

        await self._database.write(unit)

    async def open_threads(self, soul: str, workspace: str, since_ms: int, limit: int) -> tuple[ConversationKey, ...]:
        """Threads the soul takes part in that were alive since a time, newest first."""

        async def unit(transaction: Transaction) -> tuple[ConversationKey, ...]:
            rows = await transaction.rows(
                """
                SELECT id FROM conversations
                WHERE soul = :soul AND workspace = :workspace AND thread <> '' AND taking_part = 1 AND last_ms >= :since
                ORDER BY last_ms DESC LIMIT :limit
                """,
                soul=soul,
                workspace=workspace,
                since=since_ms,
                limit=limit,
            )
            return tuple(ConversationKey.parse(row["id"]) for row in rows)

        return await self._database.read(unit)

    async def known_channels(self, soul: str, workspace: str, limit: int) -> tuple[str, ...]:
        """Channels in which the soul was ever addressed, most recently heard first."""

        async def unit(transaction: Transaction) -> tuple[str, ...]:
            rows = await transaction.rows(
                """
                SELECT channel, max(last_ms) AS heard FROM conversations
                WHERE soul = :soul AND workspace = :workspace GROUP BY channel ORDER BY heard DESC LIMIT :limit
                """,
                soul=soul,
                workspace=workspace,
                limit=limit,
            )
            return tuple(row["channel"] for row in rows)

        return await self._database.read(unit)


async def _first_delivery(
    transaction: Transaction, arrival: Utterance | Revision | Withdrawal | Feedback, now: int
) -> bool:
    where = arrival.conversation if isinstance(arrival, Utterance) else arrival
    row = await transaction.one(
        """
        INSERT INTO deliveries (soul, workspace, event_id, seen_ms) VALUES (:soul, :workspace, :event_id, :now)
        ON CONFLICT DO NOTHING RETURNING event_id
        """,
        soul=where.soul,
        workspace=where.workspace,
        event_id=arrival.event_id,
        now=now,
    )
    return row is not None


async def _hear(transaction: Transaction, said: Utterance, now: int) -> tuple[Acceptance, str]:
    key = said.conversation
    state, reason = "new", ""
    if not said.addressed:
        row = await transaction.one("SELECT taking_part FROM conversations WHERE id = :id", id=str(key))
        if row is None or not row["taking_part"]:
            return Acceptance.IGNORED, "not addressed"
        if said.to_others:
            state, reason = "ignored", ASIDE
    await transaction.run(
        """
        INSERT INTO conversations (id, soul, workspace, channel, thread, place, audience, last_ms)
        VALUES (:id, :soul, :workspace, :channel, :thread, :place, :audience, :now)
        ON CONFLICT (id) DO UPDATE SET last_ms = excluded.last_ms
        """,
        id=str(key),
        soul=key.soul,
        workspace=key.workspace,
        channel=key.channel,
        thread=key.thread,
        place=said.place,
        audience=str(said.audience),
        now=now,
    )
    row = await transaction.one(
        """
        INSERT INTO inbox (id, soul, workspace, channel, ts, conversation, actor, place, audience, body, source, state,
                           reason, received_ms, envelope)
        VALUES (:id, :soul, :workspace, :channel, :ts, :conversation, :actor, :place, :audience, :body, :source, :state,
                :reason, :now, :envelope)
        ON CONFLICT DO NOTHING RETURNING id
        """,
        id=f"{key.soul}/{key.workspace}/{key.channel}/{said.ts}",
        soul=key.soul,
        workspace=key.workspace,
        channel=key.channel,
        ts=said.ts,
        conversation=str(key),
        actor=said.actor,
        place=said.place,
        audience=str(said.audience),
        body=said.text,
        source=said.source,
        state=state,
        reason=reason,
        now=now,
        envelope=said.envelope,
    )
    if row is None:
        return Acceptance.DUPLICATE, "message known"
    return (Acceptance.ACCEPTED, "") if state == "new" else (Acceptance.IGNORED, reason)


async def _revise(transaction: Transaction, edit: Revision) -> tuple[Acceptance, str]:
    row = await transaction.one(
        """
        UPDATE inbox SET body = :text, revision = revision + 1
        WHERE soul = :soul AND workspace = :workspace AND channel = :channel AND ts = :ts
          AND state NOT IN ('withdrawn', 'dropped') RETURNING conversation, state
        """,
        text=edit.text,
        soul=edit.soul,
        workspace=edit.workspace,
        channel=edit.channel,
        ts=edit.ts,
    )
    if row is None:
        return Acceptance.IGNORED, "message not known"
    await transaction.run(
        "UPDATE turns SET body = :text WHERE conversation = :conversation AND ts = :ts AND speaker = 'person'",
        text=edit.text,
        conversation=row["conversation"],
        ts=edit.ts,
    )
    return Acceptance.ACCEPTED, f"edited while {row['state']}"


async def _withdraw(transaction: Transaction, gone: Withdrawal, now: int) -> tuple[Acceptance, str]:
    row = await transaction.one(
        """
        UPDATE inbox SET body = '', envelope = '{}', revision = revision + 1, settled_ms = :now,
               state = CASE WHEN state IN ('new', 'claimed', 'ignored') THEN 'withdrawn' ELSE state END,
               reason = 'deleted by its author'
        WHERE soul = :soul AND workspace = :workspace AND channel = :channel AND ts = :ts RETURNING conversation
        """,
        now=now,
        soul=gone.soul,
        workspace=gone.workspace,
        channel=gone.channel,
        ts=gone.ts,
    )
    if row is None:
        return Acceptance.IGNORED, "message not known"
    turns = await transaction.rows(
        "DELETE FROM turns WHERE conversation = :conversation AND ts = :ts AND speaker = 'person' RETURNING seq",
        conversation=row["conversation"],
        ts=gone.ts,
    )
    # A summary made with these words must not keep them: it is made anew from the turns that are left.
    if turns:
        await transaction.run(
            "DELETE FROM working_memory WHERE conversation = :conversation AND summarized_to >= :seq",
            conversation=row["conversation"],
            seq=min(turn["seq"] for turn in turns),
        )
    return Acceptance.ACCEPTED, "withdrawn"


async def _take_feedback(transaction: Transaction, given: Feedback, now: int) -> tuple[Acceptance, str]:
    row = await transaction.one(
        """
        INSERT INTO feedback (outbox, actor, value, given_ms)
        SELECT o.id, :actor, :value, :now FROM outbox o JOIN conversations c ON c.id = o.conversation
        WHERE o.soul = :soul AND o.workspace = :workspace AND c.channel = :channel AND o.platform_ts = :ts
        ON CONFLICT (outbox, actor) DO UPDATE SET value = excluded.value, given_ms = excluded.given_ms
        RETURNING outbox
        """,
        actor=given.actor,
        value=given.value,
        now=now,
        soul=given.soul,
        workspace=given.workspace,
        ts=given.ts,
        channel=given.channel,
    )
    return (Acceptance.ACCEPTED, given.value) if row else (Acceptance.IGNORED, "no reply of ours there")
