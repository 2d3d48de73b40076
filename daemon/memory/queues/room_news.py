"""What the platform told one of several daemons of rooms and users, so that all of them ask about those again."""

import secrets
from collections.abc import Collection
from typing import Final

from daemon.core.ports.clock import Clock
from daemon.memory.database import Database, Transaction

_KEPT_MS: Final = 3_600_000  # channels remember what they know of a room for ten minutes


class RoomNewsStore:
    """Implements the `RoomNews` port; what it told itself it doesn't hear."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._me = secrets.token_hex(8)
        self._database = database
        self._clock = clock

    async def tell(self, workspace: str, subjects: Collection[str]) -> None:
        """See `RoomNews.tell`; news of an hour ago goes."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            for subject in subjects:
                await transaction.insert("room_news", teller=self._me, workspace=workspace, subject=subject, at_ms=now)
            await transaction.run("DELETE FROM room_news WHERE at_ms < :old", old=now - _KEPT_MS)

        await self._database.write(unit)

    async def changed(self, workspace: str, after: int) -> tuple[frozenset[str], int]:
        """See `RoomNews.changed`."""
        rows = await self._database.rows(
            """
            SELECT seq, subject FROM room_news
            WHERE seq > :after AND workspace = :workspace AND teller <> :me ORDER BY seq
            """,
            after=after,
            me=self._me,
            workspace=workspace,
        )
        return frozenset(str(row["subject"]) for row in rows), int(rows[-1]["seq"]) if rows else after
