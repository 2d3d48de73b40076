"""A soul's goals (with those that thoughts propose) and documents, as admins and prompts see them."""

from collections.abc import Collection
from typing import Final

from msgspec.structs import asdict

from daemon.core.errors import StoreError
from daemon.core.perception import ConversationKey, Readers
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.goals_in_force import IN_FORCE
from daemon.memory.mind.documents import HeldPart, MindDocument, parts_before, rows_of_soul
from daemon.memory.mind.goal_changes import FIELD, USUAL_PRIORITY
from daemon.memory.mind.present import who_spoke
from daemon.memory.mind.self_model import NO_TEXT, OwnText, own_text
from daemon.memory.people.readings import ADMINS_GOAL
from daemon.memory.records import Row, object_or_nothing

PROPOSED: Final = "proposed"
STATES: Final = ("open", "done", "abandoned", "stale", PROPOSED)
"""The states of a goal. `stale`: open, but untouched for too long. `proposed`: waits for an admin's permission."""

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


class Which(Value):
    """A filter for goals: the newest `most` of a soul, optionally of one `conversation` and `state`."""

    soul: str
    conversation: str
    state: str
    most: int


async def list_goals(database: Database, which: Which, now: int) -> list[Row]:
    """Return the newest goals, oldest first. Raises StoreError.

    `words_of` is the id by which its words are asked for, `reason_of` that of its reason. A proposed goal has the id of
    its approval, shared by all goals that the approval would allow, and no time, because that counts from the approval.
    """

    async def unit(transaction: Transaction) -> list[Row]:
        made = [] if which.state == PROPOSED else await _made(transaction, which, now)
        return [*made, *(await _proposed(transaction, which, now) if which.state in {"", PROPOSED} else ())]

    found = sorted(await database.read(unit), key=lambda one: one["created_ms"])
    return found[-which.most :]


async def _made(transaction: Transaction, which: Which, now: int) -> list[Row]:
    rows = await transaction.rows(
        f"""
        {_ROW} WHERE soul = :soul {"AND +conversation = :conversation" if which.conversation else ""}
          {f"AND {_STATE} = :state" if which.state else ""} ORDER BY seq DESC LIMIT :most
        """,
        now=now,
        **{name: value for name, value in asdict(which).items() if value},
    )
    return [_goal(row) for row in reversed(rows)]


def _goal(row: sqlite3.Row) -> Row:
    """Read a row of `goals` with its state at a moment as `seen`."""
    own = f"{ADMINS_GOAL}{row['seq']}"
    seen = {"state": row["seen"], "follow_up": bool(row["follow_up"])}
    return {**dict(row), **seen, "words_of": row["thought"] or own, "reason_of": row["changed_by"] or own}


async def _proposed(transaction: Transaction, which: Which, now: int) -> list[Row]:
    rows = await transaction.rows(f"{_WAITING} ORDER BY a.created_ms, a.id", soul=which.soul, now=now)
    here = (row for row in rows if which.conversation in {"", row["conversation"]})
    return [goal for row in here for goal in _added_by(row)]


def _added_by(row: sqlite3.Row) -> list[Row]:
    """Return the goals that one proposal would add, without unreadable ones."""
    changes = object_or_nothing(row["output"]).get(FIELD)
    return [
        {
            **dict(row),
            "goal": goal,
            "priority": priority if isinstance(priority := one.get("priority"), int | float) else USUAL_PRIORITY,
            "state": PROPOSED,
            "follow_up": False,
            "due_ms": None,
            "touched_ms": row["created_ms"],
            "closed_ms": None,
            "why": why if isinstance(why := one.get("why"), str) else "",
            "words_of": row["thought"],
            "reason_of": row["thought"],
        }
        for one in (changes if isinstance(changes, list) else ())
        if isinstance(one, dict) and one.get("action") == "add" and isinstance(goal := one.get("goal"), str)
    ]


async def goal_named(transaction: Transaction, soul: str, name: str, now: int) -> Row:
    """Return a goal of a soul by its id. Raises StoreError if there is none."""
    row = await transaction.one(f"{_ROW} WHERE soul = :soul AND id = :id", soul=soul, id=name.strip().upper(), now=now)
    if row is None:
        raise StoreError(f"{soul} has no goal {name[:40]!r}", hint=_HINT)
    return _goal(row)


_MOST: Final = 10_000
_NAMED: Final = 5


async def document_parts(database: Database, soul: str, audience: str, now: int) -> list[Row]:
    """Return the parts in force of a soul's self and world models, for one audience or for all, oldest first.

    Raises StoreError, also for an audience that the soul never talked with.
    """
    await _require_audience(database, soul, audience)
    rows = await database.rows(
        """
        SELECT * FROM mind_documents WHERE soul = :soul AND document IN ('self_model', 'world_model') AND newest = 1
          AND act <> 'drop' AND (until_ms IS NULL OR until_ms > :now) AND (:audience = '' OR audience = :audience)
        ORDER BY seq LIMIT :most
        """,
        soul=soul,
        audience=audience,
        now=now,
        most=_MOST,
    )
    return [_part(row) for row in rows]


async def document_history(database: Database, soul: str, audience: str, limit: int) -> list[Row]:
    """Return the newest changes of a soul's documents, oldest first, of one audience or of all.

    Raises StoreError, also for an audience that the soul never talked with.
    """
    await _require_audience(database, soul, audience)
    rows = await database.rows(
        """
        SELECT * FROM mind_documents WHERE soul = :soul AND (:audience = '' OR audience = :audience)
        ORDER BY seq DESC LIMIT :most
        """,
        soul=soul,
        audience=audience,
        most=limit,
    )
    return [_part(row) for row in reversed(rows)]


def _part(row: sqlite3.Row) -> Row:
    return {**dict(row), "in_force": bool(row["newest"])}


async def _require_audience(database: Database, soul: str, audience: str) -> None:
    if not audience:
        return
    rows = await database.rows(
        "SELECT DISTINCT audience FROM conversations WHERE soul = :soul ORDER BY audience", soul=soul
    )
    known = [row["audience"] for row in rows]
    if audience not in known:
        several = ", ".join(known[:_NAMED]) + (", …" if len(known) > _NAMED else "")
        hint = f"it has with: {several}" if known else "it has talked with nobody yet"
        raise StoreError(f"{soul} has talked with no audience {audience[:80]}", hint=hint)


class Documents(Value):
    """The documents in force: parts of self and world models (the workspace's first), rows of values, the own text."""

    held: tuple[HeldPart, ...] = ()
    values: tuple[HeldPart, ...] = ()
    own: OwnText = NO_TEXT

    @property
    def thoughts(self) -> tuple[str, ...]:
        return (*(one.thought for one in (*self.held, *self.values)), *self.own.thoughts)


NO_DOCUMENTS: Final = Documents()


async def documents_at_hand(
    transaction: Transaction, conversation: ConversationKey, readers: Readers, speaking: Collection[str], now: int
) -> Documents:
    """Return the documents for a conversation. `speaking` counts as present in addition to recent speakers.

    With outsiders among the readers, values and own text in the soul's own words are left out.
    """
    there = (await who_spoke(transaction, conversation, now)).ids.union(speaking)
    held = await parts_before(transaction, conversation, readers, now)
    here = tuple(one for one in held if not one.person or one.person in there)
    values = await rows_of_soul(transaction, conversation.soul, MindDocument.VALUES)
    if not readers.members_only:
        return Documents(here, tuple(one for one in values if one.act == "deactivate"))
    own = own_text(await rows_of_soul(transaction, conversation.soul, MindDocument.IDENTITY))
    return Documents(here, values, own)
