"""The goals of a soul: what it means to do, for which audience and at whose behest."""

from dataclasses import dataclass
from typing import Final

from daemon.core.perception import ConversationKey, Readers
from daemon.core.timetable import MINUTE_MS
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.stream.readable import came_before

MOST_OPEN: Final = 12
"""The most goals that are open for one audience."""

STALE_AFTER_MS: Final = 14 * 24 * 60 * MINUTE_MS
"""How long nobody touches a goal until it is stale."""

_LOOKED_AT: Final = 40  # newest open goals of an audience: some may be those of readers who may not know of them here


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal that is open before some readers.

    `thought` is the id of the thought by which it was made, `due_ms` (ms, UTC) 0 where it has no time. A `stale` one
    was touched by nobody for so long that it is shown once more, and then no longer.
    """

    id: str
    goal: str
    priority: float
    due_ms: int
    touched_ms: int
    thought: str
    stale: bool = False


async def goals_at_hand(
    transaction: Transaction, conversation: ConversationKey, readers: Readers, now: int
) -> tuple[Goal, ...]:
    """The open goals that these readers may know: what is due comes first, then by priority, the newest first.

    They are of the same audience or of the whole workspace; before readers who aren't all members, of this conversation
    alone.
    """
    found = dict[int, sqlite3.Row]()
    for audience in dict.fromkeys((f"workspace:{conversation.workspace}", str(readers.audience))):
        rows = await transaction.rows(
            """
            SELECT * FROM goals WHERE soul = :soul AND workspace = :workspace AND audience = :audience
              AND state = 'open' AND told_stale = 0 ORDER BY touched_ms DESC LIMIT :most
            """,
            soul=conversation.soul,
            workspace=conversation.workspace,
            audience=audience,
            most=_LOOKED_AT,
        )
        found |= {row["seq"]: row for row in rows if came_before(row, conversation, readers)}
    goals = [_read(row, now) for row in found.values()]
    return tuple(sorted(goals, key=lambda one: (not 0 < one.due_ms <= now, -one.priority, -one.touched_ms)))


def _read(row: sqlite3.Row, now: int) -> Goal:
    due, stale = row["due_ms"] or 0, row["touched_ms"] + STALE_AFTER_MS <= now
    return Goal(row["id"], row["goal"], row["priority"], due, row["touched_ms"], row["thought"], stale)
