"""Replies by message id, background jobs and queue lengths for the HTTP API, and users' feedback on replies."""

import json
from collections.abc import Sequence

from daemon.core.perception import ConversationKey
from daemon.core.ports.library import StoredReply
from daemon.core.ports.services import Clock
from daemon.memory.database import Database, Transaction
from daemon.memory.queues.jobs import enqueue_job
from daemon.memory.records import Row

_OPEN = ("new", "claimed")


class StoredReplies:
    """The messages and replies in memory.db, which has them also after a restart."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, conversation: ConversationKey, message_id: str) -> StoredReply | None:
        """Return the message with this id, or None. A reply counts from its commit on. Raises StoreError."""

        async def unit(transaction: Transaction) -> StoredReply | None:
            row = await transaction.one(
                """
                SELECT ts, body, state, answered_by, cleared FROM inbox
                WHERE conversation = :conversation AND message_id = :message_id AND message_id <> ''
                ORDER BY received_ms LIMIT 1
                """,
                conversation=str(conversation),
                message_id=message_id,
            )
            if row is None:
                return None
            body, settled = row["body"], row["state"] not in _OPEN
            if row["cleared"]:  # the queues keep texts for some weeks, the turns keep them for good
                body = "".join(await _said(transaction, conversation, row["ts"], own=False))
            parts = await _parts(transaction, row["answered_by"]) if row["answered_by"] else ()
            parts = parts if parts is not None else await _said(transaction, conversation, row["ts"], own=True)
            sorry = await _is_apology(transaction, conversation, row["ts"])
            return StoredReply(row["ts"], body, row["state"], settled, parts, apology=sorry)

        return await self._database.read(unit)

    async def last_name(self, conversation: ConversationKey) -> str:
        """Return the newest name of a conversation's user, or ''. Raises StoreError."""
        row = await self._database.one(
            """
            SELECT name FROM turns WHERE conversation = :conversation AND speaker = 'person' AND name <> ''
            ORDER BY seq DESC LIMIT 1
            """,
            conversation=str(conversation),
        )
        return row["name"] if row else ""


async def _said(transaction: Transaction, conversation: ConversationKey, ts: str, *, own: bool) -> tuple[str, ...]:
    rows = await transaction.rows(
        "SELECT body FROM turns WHERE conversation = :id AND ts = :ts AND (speaker = 'soul') = :own ORDER BY seq",
        id=str(conversation),
        ts=ts,
        own=own,
    )
    return tuple(row["body"] for row in rows)


async def _is_apology(transaction: Transaction, conversation: ConversationKey, ts: str) -> bool:
    """Return True if a message was answered by an apology, also together with another message."""
    row = await transaction.one(
        """
        SELECT 1 FROM inbox own JOIN inbox i ON i.id = own.id OR i.answered_by = own.answered_by
        JOIN turns t ON t.conversation = i.conversation AND t.ts = i.ts
        WHERE own.conversation = :id AND own.ts = :ts AND t.speaker = 'soul' AND t.kind = 'apology' LIMIT 1
        """,
        id=str(conversation),
        ts=ts,
    )
    return row is not None


async def _parts(transaction: Transaction, first: str) -> tuple[str, ...] | None:
    stem = first.rpartition("#")[0]
    rows = await transaction.rows(
        "SELECT body, cleared FROM outbox WHERE id >= :since AND id < :beyond AND state <> 'drafting' ORDER BY part",
        since=f"{stem}#",
        beyond=f"{stem}$",
    )
    return None if any(row["cleared"] for row in rows) else tuple(row["body"] for row in rows)


class Backlog:
    """The queues of one soul in one workspace: queues background jobs and counts what waits."""

    def __init__(self, database: Database, clock: Clock, *, soul: str, workspace: str) -> None:
        self._database = database
        self._clock = clock
        self._scope = {"soul": soul, "workspace": workspace}

    async def enqueue(self, conversation: ConversationKey, kinds: Sequence[str]) -> tuple[str, ...] | None:
        """Queue jobs of these kinds, in this order, for the newest turn.

        A waiting job is not queued twice. Returns the kinds, or None for an unknown conversation. Raises StoreError.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> tuple[str, ...] | None:
            known = await transaction.one("SELECT version FROM conversations WHERE id = :id", id=str(conversation))
            if known is None:
                return None
            for kind in kinds:
                await enqueue_job(transaction, kind, conversation, known["version"], now)
            return tuple(kinds)

        return await self._database.write(unit)

    async def waiting(self) -> dict[str, int]:
        """Return the number of rows that wait in `inbox`, `outbox` and `jobs`, and of `alarms`. Raises StoreError."""
        rows = await self._database.rows(
            """
            SELECT 'inbox' AS queue, count(*) AS waiting FROM inbox
            WHERE soul = :soul AND workspace = :workspace AND state IN ('new', 'claimed')
            UNION ALL SELECT 'outbox', count(*) FROM outbox
            WHERE soul = :soul AND workspace = :workspace AND state IN ('pending', 'sending')
            UNION ALL SELECT 'jobs', count(*) FROM jobs
            WHERE soul = :soul AND workspace = :workspace AND state IN ('ready', 'running')
            UNION ALL SELECT 'alarms', count(*) FROM alarms
            """,
            **self._scope,
        )
        return {row["queue"]: row["waiting"] for row in rows}


async def list_feedback(database: Database, limit: int, *, bad_only: bool = False) -> list[Row]:
    """Return users' feedback on replies, newest first, with the memories for which it counts. Raises StoreError."""
    rows = await database.rows(
        """
        SELECT o.id AS key, o.soul, o.conversation, f.author, f.value, f.how, f.why, f.given_ms, o.body AS reply,
          (SELECT json_group_array(j.id) FROM judged_memories j WHERE j.outbox = f.outbox AND j.author = f.author)
            AS memories
        FROM feedback f JOIN outbox o ON o.id = f.outbox
        WHERE f.value = 'bad' OR NOT :bad_only ORDER BY f.given_ms DESC, o.seq DESC LIMIT :limit
        """,
        bad_only=bad_only,
        limit=limit,
    )
    return [{**dict(row), "memories": sorted(json.loads(row["memories"]))} for row in rows]
