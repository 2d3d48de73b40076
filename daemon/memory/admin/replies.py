"""Replies to messages that programs sent over HTTP, found by the programs' own ids, and jobs that programs enqueue."""

from collections.abc import Sequence
from dataclasses import dataclass

from daemon.core.perception import ConversationKey
from daemon.core.ports import Clock
from daemon.memory.database import Database, Transaction
from daemon.memory.queues.jobs import enqueue_job

_OPEN = ("new", "claimed")


@dataclass(frozen=True, slots=True)
class Reply:
    """A message and its reply.

    `ts`, `said` and `state` are the timestamp, text and state of the message's inbox row. Once `settled`, `parts` holds
    the parts of the reply in order; it is empty when there is no reply.
    """

    ts: str
    said: str
    state: str
    parts: tuple[str, ...] = ()

    @property
    def settled(self) -> bool:
        """Whether the message has its final state."""
        return self.state not in _OPEN


class StoredReplies:
    """Looks up replies for the HTTP API; they stand in memory.db, so that a restart loses none."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, conversation: ConversationKey, message_id: str) -> Reply | None:
        """The message with this id in a conversation, and its reply from the commit on; None when it never arrived.

        Raises StoreError.
        """

        async def unit(transaction: Transaction) -> Reply | None:
            row = await transaction.one(
                """
                SELECT ts, body, state, answered_by FROM inbox
                WHERE conversation = :conversation AND message_id = :message_id AND message_id <> ''
                ORDER BY received_ms LIMIT 1
                """,
                conversation=str(conversation),
                message_id=message_id,
            )
            if row is None:
                return None
            parts = await _parts(transaction, row["answered_by"]) if row["answered_by"] else ()
            return Reply(row["ts"], row["body"], row["state"], parts)

        return await self._database.read(unit)

    async def last_name(self, conversation: ConversationKey) -> str:
        """The name that the user of a conversation gave last; empty when there is none. Raises StoreError."""
        row = await self._database.one(
            """
            SELECT name FROM turns WHERE conversation = :conversation AND speaker = 'person' AND name <> ''
            ORDER BY seq DESC LIMIT 1
            """,
            conversation=str(conversation),
        )
        return row["name"] if row else ""


async def _parts(transaction: Transaction, first: str) -> tuple[str, ...]:
    """The texts of a committed reply, by the key of its first part."""
    stem = first.rpartition("#")[0]
    rows = await transaction.rows(
        "SELECT body FROM outbox WHERE id >= :since AND id < :beyond AND state <> 'drafting' ORDER BY part",
        since=f"{stem}#",
        beyond=f"{stem}$",
    )
    return tuple(row["body"] for row in rows)


class Backlog:
    """Enqueues jobs for programs, and counts what waits, for one soul in one workspace."""

    def __init__(self, database: Database, clock: Clock, *, soul: str, workspace: str) -> None:
        self._database = database
        self._clock = clock
        self._scope = {"soul": soul, "workspace": workspace}

    async def enqueue(self, conversation: ConversationKey, kinds: Sequence[str]) -> tuple[str, ...] | None:
        """Enqueue jobs of these kinds, in this order, after the newest turn; returns the kinds that now wait.

        None when there is no such conversation. A kind that waits already is not enqueued twice. Raises StoreError.
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
        """How many rows wait in `inbox`, `outbox` and `jobs`. Raises StoreError."""
        rows = await self._database.rows(
            """
            SELECT 'inbox' AS queue, count(*) AS waiting FROM inbox
            WHERE soul = :soul AND workspace = :workspace AND state IN ('new', 'claimed')
            UNION ALL SELECT 'outbox', count(*) FROM outbox
            WHERE soul = :soul AND workspace = :workspace AND state IN ('pending', 'sending')
            UNION ALL SELECT 'jobs', count(*) FROM jobs
            WHERE soul = :soul AND workspace = :workspace AND state IN ('ready', 'running')
            """,
            **self._scope,
        )
        return {row["queue"]: row["waiting"] for row in rows}
