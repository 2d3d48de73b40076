"""What arrived: every utterance once, durable before it is acknowledged, with a reason when it is not answered.

Keyed by soul, workspace, channel and ts, because one mention makes two events with different ids; the ids of events are
kept as well, so that a repeated edit or button is told from a new one (design, section 3).
"""

from collections.abc import Callable
from dataclasses import replace

from daemon.core.perception import ConversationKey, Perception
from daemon.core.ports import Acceptance, Arrival, Clock, Decision, Deletion, Edit, Emit, Feedback, NewMessage
from daemon.memory.database import Database, Transaction
from daemon.memory.queues.approvals import decide
from daemon.memory.queues.edits import revise, withdraw

_ASIDE = "people talk to each other"
_TALK_LASTS = 600.0  # seconds after which words under people's talk are for the soul again
_DELIVERIES_KEPT_MS = 48 * 3600 * 1000  # Slack repeats within minutes, catch-up reads a day


class Inbox:
    """The store's side of the `Intake` port."""

    def __init__(self, database: Database, clock: Clock, emit: Emit, on_accepted: Callable[[str], None]) -> None:
        self._database = database
        self._clock = clock
        self._emit = emit
        self._on_accepted = on_accepted

    async def accept(self, arrival: Arrival) -> Acceptance:
        """Store an arrival once; durable when it returns. Raises StoreError when nothing was stored."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> tuple[Acceptance, str]:
            if not await _first_delivery(transaction, arrival, now):
                return Acceptance.DUPLICATE, "event repeated"
            return await _take(transaction, arrival, now)

        acceptance, reason = await self._database.write(unit, within=2.0)
        if acceptance is Acceptance.ACCEPTED:
            self._on_accepted(str(arrival.perception.conversation) if isinstance(arrival, NewMessage) else "")
        self._emit(f"inbox.{acceptance}", kind=type(arrival).__name__, reason=reason, event=arrival.event_id)
        return acceptance

    async def watermark(self, soul: str, workspace: str) -> str | None:
        """The ts up to which every message surely arrived."""

        async def unit(transaction: Transaction) -> str | None:
            row = await transaction.one(
                "SELECT ts FROM watermarks WHERE soul = :soul AND workspace = :workspace",
                soul=soul,
                workspace=workspace,
            )
            return row["ts"] if row else None

        return await self._database.read(unit)

    async def advance_watermark(self, soul: str, workspace: str, ts: str) -> None:
        """Move the watermark forward, never back; also forgets event ids too old to come again."""
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
        """Threads in which the soul was ever addressed that were alive since a time, newest first."""

        async def unit(transaction: Transaction) -> tuple[ConversationKey, ...]:
            rows = await transaction.rows(
                """
                SELECT id FROM conversations
                WHERE soul = :soul AND workspace = :workspace AND thread <> '' AND last_ms >= :since
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


async def _take(transaction: Transaction, arrival: Arrival, now: int) -> tuple[Acceptance, str]:
    match arrival:
        case NewMessage():
            return await _store(transaction, arrival, now)
        case Edit():
            return await _revise(transaction, arrival, now)
        case Deletion():
            tombstone = replace(arrival, event_id=_tombstone(arrival.channel, arrival.ts))
            if not await _first_delivery(transaction, tombstone, now):
                return Acceptance.DUPLICATE, "withdrawn before"
            return await withdraw(transaction, arrival, now)
        case Feedback():
            return await _take_feedback(transaction, arrival, now)
        case Decision():
            return await decide(transaction, arrival, now)


async def _first_delivery(transaction: Transaction, arrival: Arrival, now: int) -> bool:
    where = arrival.perception.conversation if isinstance(arrival, NewMessage) else arrival
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


async def _store(transaction: Transaction, message: NewMessage, now: int) -> tuple[Acceptance, str]:
    said, key, aside = message.perception, message.perception.conversation, False
    if await _withdrawn_before(transaction, said):
        return Acceptance.IGNORED, "deleted before it was heard"
    if not message.addressed:
        if not await _takes_part(transaction, str(key)):
            return Acceptance.IGNORED, "not addressed"
        aside = message.to_others or await _among_themselves(transaction, said)
    await transaction.run(
        """
        INSERT INTO conversations (id, soul, workspace, channel, thread, place, audience, last_ms)
        VALUES (:id, :soul, :workspace, :channel, :thread, :place, :audience, :now)
        ON CONFLICT (id) DO UPDATE SET last_ms = excluded.last_ms, place = excluded.place, audience = excluded.audience
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
        INSERT INTO inbox (id, soul, workspace, channel, ts, conversation, author, name, place, audience, body, source,
                           state, aside, reason, received_ms, message_id, envelope)
        VALUES (:id, :soul, :workspace, :channel, :ts, :conversation, :author, :name, :place, :audience, :body, :source,
                :state, :aside, :reason, :now, :message_id, :envelope)
        ON CONFLICT (id) DO UPDATE SET state = 'new', aside = 0, reason = ''
          WHERE inbox.state = 'ignored' AND inbox.aside = 1 AND excluded.state = 'new' RETURNING id
        """,
        id=said.id,
        soul=key.soul,
        workspace=key.workspace,
        channel=key.channel,
        ts=said.ts,
        conversation=str(key),
        author=said.author,
        name=said.name,
        place=said.place,
        audience=str(said.audience),
        body=said.content,
        source=message.source,
        state="ignored" if aside else "new",
        aside=aside,
        reason=_ASIDE if aside else "",
        now=now,
        message_id=message.message_id,
        envelope=message.envelope,
    )
    if row is None:
        return Acceptance.DUPLICATE, "message known"
    return (Acceptance.IGNORED, _ASIDE) if aside else (Acceptance.ACCEPTED, "")


async def _takes_part(transaction: Transaction, conversation: str) -> bool:
    """Whether the soul has spoken there, or is about to: what is added to a question belongs to it."""
    row = await transaction.one(
        """
        SELECT taking_part OR EXISTS (SELECT 1 FROM inbox i WHERE i.conversation = c.id
                                      AND i.state IN ('new', 'claimed') AND i.modality = 'words') AS takes_part
        FROM conversations c WHERE id = :id
        """,
        id=conversation,
    )
    return row is not None and bool(row["takes_part"])


async def _among_themselves(transaction: Transaction, said: Perception) -> bool:
    """Whether this goes on with what people said to each other: the newest words there are another person's aside."""
    row = await transaction.one(
        """
        SELECT a.author, CAST(:ts AS REAL) - CAST(a.ts AS REAL) AS later FROM inbox a
        WHERE a.conversation = :conversation AND a.aside = 1
          AND CAST(a.ts AS REAL) > coalesce(
            (SELECT max(CAST(t.ts AS REAL)) FROM turns t WHERE t.conversation = :conversation), 0)
          AND NOT EXISTS (SELECT 1 FROM inbox w WHERE w.conversation = :conversation
                          AND w.state IN ('new', 'claimed') AND CAST(w.ts AS REAL) > CAST(a.ts AS REAL))
        ORDER BY later LIMIT 1
        """,
        ts=said.ts,
        conversation=str(said.conversation),
    )
    return row is not None and row["author"] != said.author and 0 <= row["later"] <= _TALK_LASTS


async def _withdrawn_before(transaction: Transaction, said: Perception) -> bool:
    """Whether its deletion overtook it, as it may when the platform repeats what was not acknowledged."""
    key = said.conversation
    row = await transaction.one(
        "SELECT 1 FROM deliveries WHERE soul = :soul AND workspace = :workspace AND event_id = :gone",
        soul=key.soul,
        workspace=key.workspace,
        gone=_tombstone(key.channel, said.ts),
    )
    return row is not None


def _tombstone(channel: str, ts: str) -> str:
    return f"withdrawn/{channel}/{ts}"


async def _revise(transaction: Transaction, edit: Edit, now: int) -> tuple[Acceptance, str]:
    states = await revise(transaction, edit, now)
    if edit.asks is not None and all(state == "ignored" for state in states):
        return await _store(transaction, edit.asks, now)
    if not states:
        return Acceptance.IGNORED, "message not known, or its words are the same"
    return Acceptance.ACCEPTED, f"edited while {', '.join(states)}"


async def _take_feedback(transaction: Transaction, given: Feedback, now: int) -> tuple[Acceptance, str]:
    row = await transaction.one(
        """
        INSERT INTO feedback (outbox, author, value, given_ms)
        SELECT o.id, :author, :value, :now FROM outbox o JOIN conversations c ON c.id = o.conversation
        WHERE o.soul = :soul AND o.workspace = :workspace AND c.channel = :channel AND o.platform_ts = :ts
        ON CONFLICT (outbox, author) DO UPDATE SET value = excluded.value, given_ms = excluded.given_ms
        RETURNING outbox
        """,
        author=given.author,
        value=given.value,
        now=now,
        soul=given.soul,
        workspace=given.workspace,
        ts=given.ts,
        channel=given.channel,
    )
    return (Acceptance.ACCEPTED, given.value) if row else (Acceptance.IGNORED, "no reply of ours there")
