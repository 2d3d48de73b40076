"""What people have open beside their talk with the soul: the newest ids alone, for minutes, and for no other use."""

import json
from collections.abc import Sequence

from daemon.core.looked_at import LASTS_MS, LookedAt, Opened
from daemon.core.ports.clock import Clock
from daemon.memory.database import Database, Transaction
from daemon.memory.records import as_json


class LookedAtStore:
    """Implements the `LooksKept` port, and forgets what is too old."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def keep(self, workspace: str, person: str, seen: Sequence[LookedAt], at_ms: int) -> None:
        """See `LooksKept.keep`."""
        now = self._clock.now_ms()
        at = min(at_ms, now) if at_ms else now

        async def unit(transaction: Transaction) -> None:
            await transaction.run("DELETE FROM looked_at WHERE at_ms < :old", old=now - LASTS_MS)
            await transaction.run(
                "DELETE FROM looked_at WHERE workspace = :workspace AND person = :person AND at_ms <= :at",
                workspace=workspace,
                person=person,
                at=at,
            )
            if seen and at >= now - LASTS_MS:
                await transaction.insert(
                    "looked_at",
                    "ON CONFLICT DO NOTHING",  # what is newer stays
                    workspace=workspace,
                    person=person,
                    seen=as_json([[one.kind, one.channel, one.ts] for one in seen]),
                    at_ms=at,
                )

        await self._database.write(unit, within=1.0)

    async def of(self, workspace: str, person: str) -> tuple[LookedAt, ...]:
        """What a person has open now. Raises StoreError."""
        row = await self._database.one(
            "SELECT seen FROM looked_at WHERE workspace = :workspace AND person = :person AND at_ms >= :old",
            workspace=workspace,
            person=person,
            old=self._clock.now_ms() - LASTS_MS,
        )
        return tuple(LookedAt(Opened(kind), room, ts) for kind, room, ts in json.loads(row["seen"])) if row else ()


async def forget_old_looks(database: Database, clock: Clock) -> None:
    """Delete what was open too long ago, also where nobody opens anything any more. Raises StoreError."""
    old = clock.now_ms() - LASTS_MS
    if await database.one("SELECT 1 FROM looked_at WHERE at_ms < :old LIMIT 1", old=old):
        await database.run("DELETE FROM looked_at WHERE at_ms < :old", old=old)
