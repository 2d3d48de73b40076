"""Which messages bear the mark of what is worked on, so that none bears it for ever after a daemon died."""

from typing import Final

from daemon.core.ports.clock import Clock
from daemon.core.ports.intake import LeftMark
from daemon.memory.database import Database, Transaction

_KEPT_MS: Final = 7 * 86_400_000
_AT_ONCE: Final = 50


class MarkedMessageStore:
    """Implements the `MarksKept` port."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def begin(self, message: str) -> None:
        """See `MarksKept.begin`."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            await transaction.run("DELETE FROM marked_messages WHERE marked_ms < :old", old=now - _KEPT_MS)
            await transaction.run(
                """
                INSERT INTO marked_messages (id, marked_ms) SELECT id, :now FROM inbox WHERE id = :id
                ON CONFLICT DO NOTHING
                """,
                id=message,
                now=now,
            )

        await self._database.write(unit, within=1.0)

    async def end(self, message: str) -> None:
        """See `MarksKept.end`."""
        await self._database.run("DELETE FROM marked_messages WHERE id = :id", id=message)

    async def left(self, workspace: str, account: str) -> tuple[LeftMark, ...]:
        """See `MarksKept.left`."""
        rows = await self._database.rows(
            """
            SELECT i.id, i.channel, i.ts, i.state = 'answered' AND (i.answered_by IS NOT NULL OR i.addressed = 1)
              AND NOT EXISTS (
                SELECT 1 FROM turns t WHERE t.conversation = i.conversation AND t.ts = i.ts
                  AND t.speaker = 'soul' AND t.kind = 'apology') AS answered
            FROM marked_messages m CROSS JOIN inbox i ON i.id = m.id
            WHERE i.workspace = :workspace AND i.receiver IN ('', :account) AND i.state NOT IN ('new', 'claimed')
            LIMIT :most
            """,
            workspace=workspace,
            account=account,
            most=_AT_ONCE,
        )
        return tuple(LeftMark(row["id"], row["channel"], row["ts"], bool(row["answered"])) for row in rows)
