"""What a soul has spent today of what it may spend, with what calls under way can still cost."""

from dataclasses import dataclass

from daemon.core.spending import NANO
from daemon.memory.database import Database


@dataclass(frozen=True, slots=True)
class SpentToday:
    """US dollars of one soul for one day of the caps: settled, and reserved for calls under way."""

    usd: float
    reserved_usd: float

    def left_of(self, cap: float) -> float:
        """What is left of a cap; never less than nothing."""
        return max(0.0, cap - self.usd - self.reserved_usd)


async def spent_today(database: Database, soul: str, day: str) -> SpentToday:
    """What a soul has spent on a day (`2026-07-06`), in all workspaces, as its cap counts it. Raises StoreError."""
    row = await database.one(
        """
        SELECT coalesce((SELECT sum(nano) FROM spending WHERE day = :day AND paid_by = 'soul' AND id = :soul), 0)
                 AS spent,
               coalesce((SELECT sum(nano) FROM reservations WHERE day = :day AND soul = :soul), 0) AS reserved
        """,
        day=day,
        soul=soul,
    )
    assert row is not None  # a row without a table
    return SpentToday(row["spent"] / NANO, row["reserved"] / NANO)
