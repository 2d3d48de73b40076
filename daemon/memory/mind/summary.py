"""What is counted of a soul's mind: thoughts, goals, expectations. Figures alone, without a word of anybody."""

from collections.abc import Mapping
from dataclasses import dataclass

from daemon.core.calibration import Sums
from daemon.core.tempo import STALE_AFTER_MS
from daemon.memory.database import Transaction
from daemon.memory.expectations.expected import sums_of
from daemon.memory.queues.tick_ends import day_of


@dataclass(frozen=True, slots=True)
class MindSummary:
    """One soul's figures in all its workspaces; `last_thought_ms` (UTC) is None where it never thought.

    `dropped_percepts` are readings that came today and went unperceived, since too many waited.
    `skipped` says how often it did not think unasked today (UTC), by the reason; `ticks_wait`: there is something to
    think about so, now or later; `works`: something waits to be answered, or is.
    """

    last_thought_ms: int | None
    thoughts_today: int
    dropped_percepts: int
    goals_open: int
    predictions_open: int
    foresight: Sums
    skipped: Mapping[str, int]
    ticks_wait: bool
    works: bool


async def mind_summary(transaction: Transaction, soul: str, now_ms: int, since_ms: int) -> MindSummary:
    """The figures at a moment; thoughts are those of today since `since_ms`, and a stale goal isn't open."""
    row = await transaction.one(
        """
        SELECT (SELECT max(at_ms) FROM thoughts WHERE soul = :soul) AS last,
               (SELECT count(*) FROM thoughts WHERE soul = :soul AND at_ms >= :since) AS today,
               (SELECT count(*) FROM readings WHERE soul = :soul AND state = 'dropped' AND at_ms >= :since) AS dropped,
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
    skipped = await transaction.rows(
        "SELECT reason, n FROM tick_counts WHERE soul = :soul AND day = :day AND reason <> ''",
        soul=soul,
        day=day_of(now_ms),
    )
    state = await transaction.one(
        """
        SELECT EXISTS (SELECT 1 FROM ticks WHERE soul = :soul AND due_ms IS NOT NULL)
            OR EXISTS (SELECT 1 FROM goals WHERE soul = :soul AND state = 'open' AND due_ms > woken_ms) AS ticks_wait,
          EXISTS (SELECT 1 FROM conversations WHERE soul = :soul AND waiting_ms IS NOT NULL) AS works
        """,
        soul=soul,
    )
    assert state is not None  # a row without a table
    return MindSummary(
        row["last"],
        row["today"],
        row["dropped"],
        row["goals"],
        row["predictions"],
        foresight,
        {one["reason"]: one["n"] for one in skipped},
        bool(state["ticks_wait"]),
        bool(state["works"]),
    )
