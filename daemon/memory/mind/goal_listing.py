"""The goals of a soul as an admin sees them."""

from dataclasses import asdict, dataclass
from typing import Final

from daemon.core.errors import StoreError
from daemon.memory.database import Database, Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.goals_in_force import IN_FORCE
from daemon.memory.people.readings import ADMINS_GOAL

STATES: Final = ("open", "done", "abandoned", "stale", "proposed")
"""The states of a goal: `stale` is one that is open, and was untouched for too long."""

_STATE: Final = f"CASE WHEN state = 'open' AND NOT ({IN_FORCE}) THEN 'stale' ELSE state END"
_ROW: Final = f"SELECT *, {_STATE} AS seen FROM goals"  # noqa: S608 - constants


@dataclass(frozen=True, slots=True)
class ListedGoal:
    """One goal; times in ms, UTC, None where there is none.

    `words_of` is the id by which its words are asked for, `reason_of` the one of its reason.
    """

    id: str
    soul: str
    conversation: str
    audience: str
    behalf: str
    goal: str
    priority: float
    state: str
    follow_up: bool
    due_ms: int | None
    created_ms: int
    touched_ms: int
    closed_ms: int | None
    why: str
    thought: str
    words_of: str
    reason_of: str

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "ListedGoal":
        """Read a row of `goals` with its state at a moment as `seen`."""
        own = f"{ADMINS_GOAL}{row['seq']}"
        return cls(
            **{name: row[name] for name in _PLAIN},
            state=row["seen"],
            follow_up=bool(row["follow_up"]),
            words_of=row["thought"] or own,
            reason_of=row["changed_by"] or own,
        )


_PLAIN: Final = (
    *("id", "soul", "conversation", "audience", "behalf", "goal", "priority", "due_ms", "created_ms", "touched_ms"),
    *("closed_ms", "why", "thought"),
)


@dataclass(frozen=True, slots=True)
class Which:
    """Which goals: the newest `most` of a soul; `conversation` and `state` leave others out where given."""

    soul: str
    conversation: str
    state: str
    most: int


async def list_goals(database: Database, which: Which, now: int) -> tuple[ListedGoal, ...]:
    """The newest goals, oldest first. Raises StoreError."""
    rows = await database.rows(
        f"""
        {_ROW} WHERE soul = :soul {"AND +conversation = :conversation" if which.conversation else ""}
          {f"AND {_STATE} = :state" if which.state else ""} ORDER BY seq DESC LIMIT :most
        """,
        now=now,
        **{name: value for name, value in asdict(which).items() if value},
    )
    return tuple(map(ListedGoal.from_row, reversed(rows)))


async def goal_named(transaction: Transaction, soul: str, name: str, now: int) -> ListedGoal:
    """One goal of a soul by its id. Raises StoreError where there is none."""
    row = await transaction.one(f"{_ROW} WHERE soul = :soul AND id = :id", soul=soul, id=name.strip().upper(), now=now)
    if row is None:
        raise StoreError(f"{soul} has no goal {name[:40]!r}", hint="list them with `soul goals`")
    return ListedGoal.from_row(row)
