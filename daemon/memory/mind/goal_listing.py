"""The goals of a soul as an admin sees them, with those that thoughts propose."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from daemon.core.errors import StoreError
from daemon.memory.database import Database, Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.goals_in_force import IN_FORCE
from daemon.memory.mind.goal_changes import FIELD, USUAL_PRIORITY
from daemon.memory.people.readings import ADMINS_GOAL
from daemon.memory.records import object_or_nothing

PROPOSED: Final = "proposed"
STATES: Final = ("open", "done", "abandoned", "stale", PROPOSED)
"""The states of a goal: `stale` is one that is open, and was untouched for too long, `proposed` none yet."""

_STATE: Final = f"CASE WHEN state = 'open' AND NOT ({IN_FORCE}) THEN 'stale' ELSE state END"
_ROW: Final = f"SELECT *, {_STATE} AS seen FROM goals"  # noqa: S608 - constants
_WAITING: Final = """
    SELECT a.id, a.conversation, a.created_ms, t.id AS thought, t.soul, t.audience, t.output,
      coalesce((SELECT author FROM turns s WHERE s.conversation = t.conversation AND s.trace_id = t.trace_id
                  AND s.speaker = 'person' ORDER BY s.seq DESC LIMIT 1), '') AS behalf
    FROM approvals a
    JOIN thoughts t ON t.id = CASE WHEN json_valid(a.arguments) THEN json_extract(a.arguments, '$.thought') END
    WHERE a.soul = :soul AND a.state = 'waiting' AND a.tool GLOB 'mind.*' AND a.tool = 'mind.goals'
      AND a.expires_ms > :now AND t.emptied = 0
    """


_HINT: Final = "list them with `soul mind goals`; what is proposed is settled by `soul approvals`"


@dataclass(frozen=True, slots=True)
class ListedGoal:
    """One goal; times in ms, UTC, None where there is none.

    `words_of` is the id by which its words are asked for, `reason_of` the one of its reason. One that is proposed has
    the id of the question for permission, as all have that it would allow, and no time: that counts from then.
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

    async def unit(transaction: Transaction) -> list[ListedGoal]:
        made = [] if which.state == PROPOSED else await _made(transaction, which, now)
        return [*made, *(await _proposed(transaction, which, now) if which.state in {"", PROPOSED} else ())]

    found = sorted(await database.read(unit), key=lambda one: one.created_ms)
    return tuple(found[-which.most :])


async def _made(transaction: Transaction, which: Which, now: int) -> Sequence[ListedGoal]:
    """The newest goals that a soul has or had, oldest first."""
    rows = await transaction.rows(
        f"""
        {_ROW} WHERE soul = :soul {"AND +conversation = :conversation" if which.conversation else ""}
          {f"AND {_STATE} = :state" if which.state else ""} ORDER BY seq DESC LIMIT :most
        """,
        now=now,
        **{name: value for name, value in asdict(which).items() if value},
    )
    return tuple(map(ListedGoal.from_row, reversed(rows)))


async def _proposed(transaction: Transaction, which: Which, now: int) -> Sequence[ListedGoal]:
    """The goals that thoughts would add if an admin allowed it, oldest first."""
    rows = await transaction.rows(f"{_WAITING} ORDER BY a.created_ms, a.id", soul=which.soul, now=now)
    here = (row for row in rows if which.conversation in {"", row["conversation"]})
    return [goal for row in here for goal in _added_by(row)]


def _added_by(row: sqlite3.Row) -> Sequence[ListedGoal]:
    """The goals that one proposal would add; those that can't be read are none."""
    changes = object_or_nothing(row["output"]).get(FIELD)
    return [
        ListedGoal(
            **{name: row[name] for name in ("id", "soul", "conversation", "audience", "behalf", "thought")},
            goal=goal,
            priority=priority if isinstance(priority := one.get("priority"), int | float) else USUAL_PRIORITY,
            state=PROPOSED,
            follow_up=False,
            due_ms=None,
            created_ms=row["created_ms"],
            touched_ms=row["created_ms"],
            closed_ms=None,
            why=why if isinstance(why := one.get("why"), str) else "",
            words_of=row["thought"],
            reason_of=row["thought"],
        )
        for one in (changes if isinstance(changes, list) else ())
        if isinstance(one, dict) and one.get("action") == "add" and isinstance(goal := one.get("goal"), str)
    ]


async def goal_named(transaction: Transaction, soul: str, name: str, now: int) -> ListedGoal:
    """One goal of a soul by its id. Raises StoreError where there is none."""
    row = await transaction.one(f"{_ROW} WHERE soul = :soul AND id = :id", soul=soul, id=name.strip().upper(), now=now)
    if row is None:
        raise StoreError(f"{soul} has no goal {name[:40]!r}", hint=_HINT)
    return ListedGoal.from_row(row)
