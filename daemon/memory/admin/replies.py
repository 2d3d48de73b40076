"""What became of messages that programs sent over HTTP, found again by their own ids, and errands done for them."""

from collections.abc import Sequence
from dataclasses import dataclass

from daemon.core.perception import ConversationKey
from daemon.core.ports import Clock
from daemon.memory.database import Database, Transaction

_OPEN = ("new", "claimed")


@dataclass(frozen=True, slots=True)
class Reply:
    """A message and what it came to.

    `ts` is the one it was stored under, `said` its words, `state` that of its inbox row. Once `settled`, `parts` are
    the words of the answer in order; none when it ended without any.
    """

    ts: str
    said: str
    state: str
    parts: tuple[str, ...] = ()

    @property
    def settled(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state not in _OPEN


class Replies:
    """Look-ups for the HTTP door; everything stands in memory.db, so they hold after a restart as well."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, conversation: ConversationKey, message_id: str) -> Reply | None:
        """The message that has this id in a conversation; None: no such message came. Raises StoreError.

        The answer counts from its commit on, whether it was fetched or not.
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
        """The name that the user of a conversation last gave, empty when they never gave one. Raises StoreError."""

        async def unit(transaction: Transaction) -> str:
            row = await transaction.one(
                """
                SELECT name FROM turns WHERE conversation = :conversation AND speaker = 'person' AND name <> ''
                ORDER BY seq DESC LIMIT 1
                """,
                conversation=str(conversation),
            )
            return row["name"] if row else ""

        return await self._database.read(unit)


async def _parts(transaction: Transaction, first: str) -> tuple[str, ...]:
    """The words of a committed reply, by the key of its first part."""
    stem = first.rpartition("#")[0]
    rows = await transaction.rows(
        "SELECT body FROM outbox WHERE id >= :since AND id < :beyond AND state <> 'drafting' ORDER BY part",
        since=f"{stem}#",
        beyond=f"{stem}$",
    )
    return tuple(row["body"] for row in rows)


class Backlog:
    """What programs may have done in the background, and how much waits, for one soul in one workspace."""

    def __init__(self, database: Database, clock: Clock, *, soul: str, workspace: str) -> None:
        self._database = database
        self._clock = clock
        self._of = {"soul": soul, "workspace": workspace}

    async def enqueue(self, conversation: ConversationKey, kinds: Sequence[str]) -> tuple[str, ...] | None:
        """Have jobs of these kinds done, in this order, after the newest turn; gives those that now wait.

        None: no such conversation. A job that waits already is not doubled. Raises StoreError.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> tuple[str, ...] | None:
            known = await transaction.one("SELECT version FROM conversations WHERE id = :id", id=str(conversation))
            if known is None:
                return None
            for kind in kinds:
                await transaction.run(
                    """
                    INSERT INTO jobs (kind, conversation, soul, workspace, turn, state, created_ms)
                    VALUES (:kind, :conversation, :soul, :workspace, :turn, 'ready', :now)
                    ON CONFLICT (conversation, kind) WHERE state IN ('ready', 'running')
                    DO UPDATE SET turn = excluded.turn
                    """,
                    kind=kind,
                    conversation=str(conversation),
                    turn=known["version"],
                    now=now,
                    **self._of,
                )
            return tuple(kinds)

        return await self._database.write(unit)

    async def waiting(self) -> dict[str, int]:
        """How many rows wait in `inbox`, `outbox` and `jobs`. Raises StoreError."""

        async def unit(transaction: Transaction) -> dict[str, int]:
            row = await transaction.one(
                """
                SELECT (SELECT count(*) FROM inbox WHERE soul = :soul AND workspace = :workspace
                          AND state IN ('new', 'claimed')) AS inbox,
                       (SELECT count(*) FROM outbox WHERE soul = :soul AND workspace = :workspace
                          AND state IN ('pending', 'sending')) AS outbox,
                       (SELECT count(*) FROM jobs WHERE soul = :soul AND workspace = :workspace
                          AND state IN ('ready', 'running')) AS jobs
                """,
                **self._of,
            )
            return {name: row[name] for name in row.keys()} if row else {}  # noqa: SIM118  # a Row iterates over values

        return await self._database.read(unit)
