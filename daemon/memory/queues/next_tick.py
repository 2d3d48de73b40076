"""The moment of a soul's next thought, in SQL that looks at few rows, and the soul's wish to wake."""

from collections.abc import Mapping
from typing import ClassVar, Final

from daemon.core.tempo import LATEST_WAKE_S, MOST_FRUITLESS, MOST_WAKES, SOONEST_WAKE_S, SURPRISING
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.goals_in_force import OWED
from daemon.memory.queues.ended_visits import RESULTS
from daemon.memory.records import conversation_columns
from daemon.memory.thought_parts import PartsTaken, StoredThought

STILL_WAITS: Final = """
    EXISTS (SELECT 1 FROM readings r WHERE r.conversation = ticks.conversation AND r.state = 'waiting')
    AND (about = '' OR EXISTS (SELECT 1 FROM goals g WHERE g.soul = ticks.soul AND g.id = about AND g.state = 'open'))
    """
"""A SQL condition: the readings of a `sense` tick still wait, and its goal is still open."""

WAKING: Final = "soul = :soul AND workspace = :workspace AND wakes_ms IS NOT NULL"
"""A SQL condition: the reading will wake a thought."""

_LONG_AGO_MS: Final = 86_400_000  # a soul whose inner life begins today doesn't begin with what is long past


async def note_readings(transaction: Transaction, scope: Mapping[str, str], now: int, most: int) -> None:
    """Note ticks for the readings that wake a thought now. A tick that already waits keeps its time."""
    rows = await transaction.rows(
        f"""
        SELECT seq, conversation, concerns, wakes_ms FROM readings WHERE {WAKING} AND wakes_ms <= :now
        ORDER BY wakes_ms LIMIT :most
        """,  # noqa: S608 - a constant
        now=now,
        most=most,
        **scope,
    )
    for row in rows:
        await transaction.run("UPDATE readings SET wakes_ms = NULL WHERE seq = :seq", seq=row["seq"])
        if row["wakes_ms"] > now - _LONG_AGO_MS:
            await transaction.insert(
                "ticks",
                """
                ON CONFLICT (conversation, kind, about) DO UPDATE SET due_ms = coalesce(ticks.due_ms, excluded.due_ms)
                """,
                **scope,
                conversation=row["conversation"],
                kind="sense",
                about=row["concerns"],
                due_ms=now,
            )


SCOPE: Final = "soul = :soul AND workspace = :workspace"
ALL_WAIT: Final = f"EXISTS (SELECT 1 FROM conversations WHERE {SCOPE} AND waiting_ms IS NOT NULL)"  # noqa: S608 - a constant
"""A SQL condition: something waits to be answered, before which the soul doesn't think by itself."""

GOALS: Final = f"{SCOPE} AND state = 'open' AND due_ms > woken_ms"
"""A SQL condition on `goals`: no tick was made for the due time yet."""

OWED_ALONE: Final = (
    f"kind = 'due' AND EXISTS (SELECT 1 FROM goals g WHERE g.soul = ticks.soul AND g.id = about AND {OWED})"  # noqa: S608
)
"""A SQL condition on `ticks`: the tick is about a promise."""

SURPRISES: Final = f"{SCOPE} AND shown = 0 AND woken = 0 AND surprise >= {SURPRISING}"
"""A SQL condition on `predictions`: it was a surprise, and no tick was made of it yet."""

ONE_LEADS_TO_THE_NEXT: Final = """
    (EXISTS (SELECT 1 FROM thoughts t WHERE t.id = predictions.thought AND t.occasion = 'surprise')
     AND coalesce((SELECT u.said_ms FROM turns u
                   WHERE u.conversation = predictions.conversation AND u.speaker = 'person'
                   ORDER BY u.seq DESC LIMIT 1), 0) <= predictions.made_ms)
    """
"""A SQL condition on `predictions`: a thought about a surprise made it, and no person has written since. Such a
prediction wakes no thought."""

_DUE: Final = f"""
    SELECT min(due_ms) AS at_ms FROM ticks WHERE {SCOPE} AND due_ms IS NOT NULL
    UNION ALL SELECT min(due_ms) FROM goals WHERE {GOALS}
    UNION ALL SELECT min(scored_ms) FROM predictions WHERE {SURPRISES}
    UNION ALL SELECT min(wakes_ms) FROM readings WHERE {WAKING}
    UNION ALL SELECT min(decided_ms) FROM approvals WHERE {RESULTS}
    """  # noqa: S608 - constants
_OWED_DUE: Final = f"""
    SELECT min(due_ms) AS at_ms FROM goals WHERE {GOALS} AND {OWED}
    UNION ALL SELECT min(t.due_ms) FROM (SELECT id, conversation FROM goals WHERE {SCOPE} AND {OWED}) g
    CROSS JOIN ticks t ON t.conversation = g.conversation AND t.kind = 'due' AND t.about = g.id
    """  # noqa: S608 - constants; promises are few, whereas there may be thousands of ticks


def when_next(*, owed_alone: bool) -> str:
    """Return the SQL for the moment `due` of the next tick, NULL for none or while something waits.

    `owed_alone` looks at promises only. `ALL_WAIT` isn't in a WHERE: SQLite would try it for each goal and tick.
    """
    soonest = f"SELECT min(at_ms) FROM ({_OWED_DUE if owed_alone else _DUE})"  # noqa: S608 - constants
    return f"SELECT iif({ALL_WAIT}, NULL, ({soonest})) AS due"


_DAY_MS: Final = 86_400_000


class WakeWish(Value):
    """A wish to think again in so many seconds. A conversation keeps the newest one.

    `fruitful`: the wishing thought did something else as well. See `daemon.memory.thought_parts.ThoughtPart`.
    """

    seconds: float
    fruitful: bool
    field: ClassVar[str] = "cycle_rate"

    @property
    def size(self) -> int:
        return 1

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        """Note when to wake. Raises StoreError."""
        if not SOONEST_WAKE_S <= self.seconds <= LATEST_WAKE_S:  # also what is no number
            return PartsTaken(refused=("out_of_range",))
        fruitless = await self._fruitless(transaction, thought)
        if fruitless >= MOST_FRUITLESS or await _wakes_today(transaction, thought) >= MOST_WAKES:
            return PartsTaken(refused=("rate",))
        await transaction.insert(
            "ticks",
            """
            ON CONFLICT (conversation, kind, about) DO UPDATE SET due_ms = excluded.due_ms, inbox = '',
              fruitless = excluded.fruitless
            """,
            **conversation_columns(thought.conversation),
            kind="wake",
            about="",
            due_ms=thought.now + int(self.seconds * 1000),
            fruitless=fruitless,
        )
        return PartsTaken(1)

    async def _fruitless(self, transaction: Transaction, thought: StoredThought) -> int:
        """Return how often in a row the soul woke here to no effect, with this thought."""
        row = await transaction.one(
            """
            SELECT t.occasion, coalesce(k.fruitless, 0) AS fruitless FROM thoughts t
            LEFT JOIN ticks k ON k.conversation = t.conversation AND k.kind = 'wake' AND k.about = ''
            WHERE t.id = :id
            """,
            id=thought.id,
        )
        if row is None or row["occasion"] == "words" or self.fruitful:
            return 0
        return int(row["fruitless"]) + int(row["occasion"] == "wake")


async def _wakes_today(transaction: Transaction, thought: StoredThought) -> int:
    """Return how often the soul woke by its own wish since midnight (UTC), plus the wishes that wait elsewhere."""
    midnight = thought.now - thought.now % _DAY_MS
    row = await transaction.one(
        """
        SELECT (SELECT count(*) FROM thoughts WHERE soul = :soul AND at_ms >= :since AND occasion = 'wake')
             + (SELECT count(*) FROM ticks WHERE soul = :soul AND workspace = :workspace AND kind = 'wake'
                  AND due_ms IS NOT NULL AND conversation <> :conversation) AS n
        """,
        since=midnight,
        **conversation_columns(thought.conversation),
    )
    return int(row["n"]) if row else 0
