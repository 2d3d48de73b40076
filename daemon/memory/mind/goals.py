"""The goals of a soul: what it means to do, for which audience and for whom."""

from dataclasses import dataclass
from typing import Final

from daemon.core.lineage import goal_id
from daemon.core.perception import ConversationKey, Readers
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.goals_in_force import IN_FORCE
from daemon.memory.thought_readability import came_before

MOST_OPEN: Final = 12
"""The most goals that are open for one audience."""

_LOOKED_AT: Final = 100  # newest goals of an audience; beside those in force it has stale ones, which are shown soon


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal that is open before some readers.

    `behalf` is the person (platform id) for whom it was made; `source` is the id by which its words are followed: that
    of the thought that made it, or its own (`goal_id`) where an admin did. `due_ms` (ms, UTC) is 0 where it has no
    time. A `stale` one was untouched for so long that it is shown once more.
    """

    id: str
    goal: str
    priority: float
    behalf: str
    due_ms: int
    source: str
    stale: bool = False


async def goals_at_hand(
    transaction: Transaction, conversation: ConversationKey, readers: Readers, now: int
) -> tuple[Goal, ...]:
    """The goals that these readers may know: what is due comes first, then by priority; of equals the newest first.

    They are of the same audience or of the whole workspace; before readers who aren't all members, of this conversation
    alone.
    """
    found = dict[int, sqlite3.Row]()
    for audience in dict.fromkeys((f"workspace:{conversation.workspace}", str(readers.audience))):
        rows = await transaction.rows(
            f"""
            SELECT *, NOT ({IN_FORCE}) AS stale FROM goals
            WHERE soul = :soul AND workspace = :workspace AND audience = :audience AND state = 'open'
              AND stale_shown = 0 AND goal <> '' ORDER BY touched_ms DESC LIMIT :most
            """,  # noqa: S608 - a constant
            soul=conversation.soul,
            workspace=conversation.workspace,
            audience=audience,
            most=_LOOKED_AT,
            now=now,
        )
        found |= {row["seq"]: row for row in rows if came_before(row, conversation, readers)}
    newest_first = sorted(found.values(), key=lambda row: (-row["touched_ms"], -row["seq"]))
    goals = [_read(row) for row in newest_first]
    return tuple(sorted(goals, key=lambda one: (not 0 < one.due_ms <= now, -one.priority)))


def _read(row: sqlite3.Row) -> Goal:
    due = row["due_ms"] or 0
    source = row["thought"] or goal_id(row["soul"], row["id"])
    return Goal(row["id"], row["goal"], row["priority"], row["behalf"], due, source, stale=bool(row["stale"]))
