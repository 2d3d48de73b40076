"""What is counted of a soul's mind: thoughts, goals, expectations. Figures alone, without a word of anybody."""

from dataclasses import dataclass

from daemon.core.calibration import Sums
from daemon.memory.database import Transaction
from daemon.memory.expectations.expected import sums_of
from daemon.memory.mind.goals import STALE_AFTER_MS


@dataclass(frozen=True, slots=True)
class MindSummary:
    """One soul's figures in all its workspaces; `last_thought_ms` (UTC) is None where it never thought."""

    last_thought_ms: int | None
    thoughts_today: int
    goals_open: int
    predictions_open: int
    foresight: Sums


async def mind_summary(transaction: Transaction, soul: str, now_ms: int, since_ms: int) -> MindSummary:
    """The figures at a moment; thoughts are those of today since `since_ms`, and a stale goal isn't open."""
    row = await transaction.one(
        """
        SELECT (SELECT max(at_ms) FROM thoughts WHERE soul = :soul) AS last,
               (SELECT count(*) FROM thoughts WHERE soul = :soul AND at_ms >= :since) AS today,
               (SELECT count(*) FROM goals WHERE soul = :soul AND state = 'open'
                  AND max(touched_ms, coalesce(due_ms, 0)) > :fresh) AS goals,
               (SELECT count(*) FROM predictions WHERE soul = :soul AND state = 'open') AS predictions
        """,
        soul=soul,
        since=since_ms,
        fresh=now_ms - STALE_AFTER_MS,
    )
    assert row is not None  # a row without a table
    foresight = await sums_of(transaction, soul)
    return MindSummary(row["last"], row["today"], row["goals"], row["predictions"], foresight)
