"""How the last days were: messages heard, answers, how long people waited, what it cost."""

from collections.abc import Sequence
from dataclasses import dataclass

from daemon.core.spending import Day
from daemon.memory.database import Database
from daemon.memory.spending.costs import sums_of_costs

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class DayOfUse:
    """One day, by its date; `wait_s` is the mean from a message to the answer standing, 0 without an answer."""

    day: str
    heard: int
    answered: int
    wait_s: float
    cost_usd: float


async def days_of_use(database: Database, days: Sequence[Day]) -> tuple[DayOfUse, ...]:
    """Each of these days, in their order, for all souls of the file; one short read each. Raises StoreError."""
    costs = {one.key: one.cost_usd for one in await sums_of_costs(database, "day", days[0].ends_ms - 2 * DAY_MS)}
    found = []
    for one in days:
        row = await database.one(
            """
            SELECT count(*) AS heard, coalesce(sum(i.state = 'answered'), 0) AS answered,
                   coalesce(avg(max(0, o.settled_ms - i.received_ms)), 0.0) / 1000 AS wait_s
            FROM inbox i LEFT JOIN outbox o ON o.id = i.answered_by AND o.state = 'sent'
            WHERE i.state IN ('new', 'claimed', 'answered', 'stale', 'dead') AND i.modality = 'words'
              AND i.received_ms >= :since AND i.received_ms < :until
            """,
            since=one.ends_ms - DAY_MS,
            until=one.ends_ms,
        )
        assert row is not None  # an aggregate always has a row
        found.append(DayOfUse(one.date, row["heard"], row["answered"], row["wait_s"], costs.get(one.date, 0.0)))
    return tuple(found)
