"""Goals of a soul, and the changes that a thought makes to them: each is judged alone in the thought's transaction."""

import re
import unicodedata
from collections.abc import Sequence
from typing import ClassVar, Final, Literal

from daemon.core.lineage import goal_id, kept_readers
from daemon.core.perception import Audience, ConversationKey, Readers
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.goals_in_force import IN_FORCE
from daemon.memory.id_series import next_number
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.queues.promises import promise
from daemon.memory.records import as_json, conversation_columns
from daemon.memory.thought_parts import PartsTaken, StoredThought, came_before

MOST_OPEN: Final = 12
"""The most goals that are open for one audience."""

_LOOKED_AT: Final = 100  # newest goals of an audience, which include stale ones


class Goal(Value):
    """An open goal that some readers may know.

    `behalf` is the person (platform id) for whom it was made. `source` is the id by which its words are followed: that
    of the thought that made it, or its own (`goal_id`) if an admin did. `due_ms` (ms, UTC) is 0 without a time. A
    `stale` goal was untouched for so long that it is shown once more.
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
    """Return the goals that these readers may know: due ones first, then by priority, then the newest first.

    They are of the same audience or of the whole workspace. With outsiders among the readers, only those of this
    conversation are returned.
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


FIELD: Final = "goal_updates"
"""The field of a thought that holds these changes."""

USUAL_PRIORITY: Final = 0.5

_CLOSES: Final = {"complete": "done", "abandon": "abandoned"}
_WORD: Final = re.compile(r"\w+")


class GoalChange(Value):
    """A new goal, or another state, priority or time of the goal `id`. 0 and None change nothing.

    A new goal is `promised` if the reply of the same commit announces words about it by `due_ms`.
    """

    action: Literal["add", "complete", "reprioritize", "abandon"]
    goal: str = ""
    id: str = ""
    priority: float | None = None
    due_ms: int = 0
    why: str = ""
    promised: bool = False


class GoalChanges(Value):
    """The changes of one thought. `refused` holds the reasons why others of the same field can't take effect.

    A goal is changed only if the thought's readers may know it. A new goal with the same words as a known open one
    touches that one, and gives it its time. See `daemon.memory.thought_parts.ThoughtPart`.
    """

    changes: tuple[GoalChange, ...]
    refused: Sequence[str] = ()
    field: ClassVar[str] = FIELD

    @property
    def size(self) -> int:
        return len(self.changes) + len(self.refused)

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        """Apply the changes that pass all checks. Raises StoreError, TooManyPromises."""
        reasons = [await _change(transaction, one, thought) for one in self.changes]
        return PartsTaken(reasons.count(""), (*self.refused, *filter(None, reasons)))


class StaleShown(Value):
    """The goals that were shown as stale. Those still untouched are not shown again."""

    soul: str
    ids: tuple[str, ...]

    async def perform(self, transaction: Transaction, _: Asker, now: int) -> None:
        await transaction.run(
            f"""
            UPDATE goals SET stale_shown = 1
            WHERE soul = :soul AND id IN (SELECT value FROM json_each(:ids)) AND NOT ({IN_FORCE})
            """,  # noqa: S608 - a constant
            soul=self.soul,
            ids=as_json(list(self.ids)),
            now=now,
        )


async def has_room(transaction: Transaction, conversation: ConversationKey, audience: Audience, now: int) -> bool:
    """Return True if one more goal may be open for this audience."""
    row = await transaction.one(
        f"""
        SELECT count(*) AS n FROM goals
        WHERE soul = :soul AND workspace = :workspace AND audience = :audience AND {IN_FORCE}
        """,  # noqa: S608 - a constant
        soul=conversation.soul,
        workspace=conversation.workspace,
        audience=str(audience),
        now=now,
    )
    return row is None or row["n"] < MOST_OPEN


async def store_goal(transaction: Transaction, change: GoalChange, made: StoredThought) -> str:
    """Store a new goal and return its id. `made.id` is empty if no thought made it."""
    name = f"G{await next_number(transaction, f'G:{made.conversation.soul}')}"
    await transaction.insert(
        "goals",
        **conversation_columns(made.conversation),
        id=name,
        audience=str(made.audience),
        readers=as_json(kept_readers(made.readers)),
        behalf=made.person,
        goal=change.goal,
        same_words=same_words(change.goal),
        priority=USUAL_PRIORITY if change.priority is None else change.priority,
        state="open",
        follow_up=0,
        due_ms=change.due_ms or None,
        created_ms=made.now,
        touched_ms=made.now,
        why=change.why,
        thought=made.id,
        changed_by=made.id,
    )
    return name


async def the_same_goals(transaction: Transaction, goal: str, made: StoredThought) -> Sequence[sqlite3.Row]:
    """Return the open goals of the same audience with the same words."""
    return await transaction.rows(
        """
        SELECT * FROM goals WHERE soul = :soul AND workspace = :workspace AND audience = :audience AND state = 'open'
          AND same_words = :words
        """,
        soul=made.conversation.soul,
        workspace=made.conversation.workspace,
        audience=str(made.audience),
        words=same_words(goal),
    )


async def close_goal(
    transaction: Transaction, soul: str, name: str, state: str, *, why: str, changed_by: str, now: int
) -> bool:
    """Close an open goal as `done` or `abandoned`. Return True if it was open.

    `changed_by` is the thought whose words `why` holds, or empty.
    """
    rows = await transaction.rows(
        """
        UPDATE goals SET state = :state, closed_ms = :now, touched_ms = :now, why = :why, changed_by = :changed_by
        WHERE soul = :soul AND id = :id AND state = 'open' RETURNING seq
        """,
        soul=soul,
        id=name,
        state=state,
        now=now,
        why=why,
        changed_by=changed_by,
    )
    return bool(rows)


def same_words(goal: str) -> str:
    """Return the words of a goal in lower case without punctuation. Goals with equal results count as the same."""
    plain = unicodedata.normalize("NFKC", goal).casefold()
    return " ".join(_WORD.findall(plain)) or plain.strip()


async def _change(transaction: Transaction, change: GoalChange, thought: StoredThought) -> str:
    return await (_add if change.action == "add" else _change_known)(transaction, change, thought)


async def _add(transaction: Transaction, change: GoalChange, thought: StoredThought) -> str:
    where = thought.conversation
    for row in await the_same_goals(transaction, change.goal, thought):
        if came_before(row, where, thought.readers) and (not change.promised or _is_theirs(row, thought)):
            refused = await _touch(transaction, row, thought, change if change.due_ms else None)
            if change.promised:
                await promise(transaction, where, row["id"], thought.person, change.due_ms)
            return refused
    # a promise that people have read is kept: its own limit is checked before and in `promise`
    if not (change.promised or await has_room(transaction, where, thought.audience, thought.now)):
        return "too_many"
    name = await store_goal(transaction, change, thought)
    if change.promised:
        await promise(transaction, where, name, thought.person, change.due_ms)
    return ""


async def _change_known(transaction: Transaction, change: GoalChange, thought: StoredThought) -> str:
    where = thought.conversation
    row = await transaction.one(
        "SELECT * FROM goals WHERE soul = :soul AND id = :id", soul=where.soul, id=change.id.strip().upper()
    )
    if row is None:
        return "unknown"
    if not _may_touch(row, thought):
        return "foreign"
    if row["state"] != "open":
        return "unknown"
    if change.action == "reprioritize":
        return await _touch(transaction, row, thought, change)
    await close_goal(
        transaction,
        where.soul,
        row["id"],
        _CLOSES[change.action],
        why=change.why,
        changed_by=thought.id,
        now=thought.now,
    )
    return ""


async def _touch(
    transaction: Transaction, row: sqlite3.Row, thought: StoredThought, change: GoalChange | None = None
) -> str:
    """Touch an open goal, which may have been stale. A `change` gives it another priority, time and reason."""
    in_force = await transaction.one(
        f"SELECT 1 FROM goals WHERE seq = :seq AND {IN_FORCE}",  # noqa: S608 - a constant
        seq=row["seq"],
        now=thought.now,
    )
    audience = Audience.parse(row["audience"])
    if in_force is None and not await has_room(transaction, thought.conversation, audience, thought.now):
        return "too_many"
    await transaction.run(
        "UPDATE goals SET touched_ms = :now, stale_shown = 0 WHERE seq = :seq", seq=row["seq"], now=thought.now
    )
    if change is not None:
        await transaction.run(
            """
            UPDATE goals SET priority = coalesce(:priority, priority), why = :why, changed_by = :thought,
              due_ms = CASE WHEN follow_up = 1 AND kept_ms IS NULL THEN due_ms ELSE coalesce(:due, due_ms) END
            WHERE seq = :seq -- the time of a promise stands: its person has read it
            """,
            seq=row["seq"],
            priority=change.priority,
            due=change.due_ms or None,
            why=change.why,
            thought=thought.id,
        )
    return ""


def _is_theirs(row: sqlite3.Row, thought: StoredThought) -> bool:
    return bool(row["behalf"] == thought.person and row["conversation"] == str(thought.conversation))


def _may_touch(row: sqlite3.Row, thought: StoredThought) -> bool:
    here = row["workspace"] == thought.conversation.workspace
    return here and came_before(row, thought.conversation, thought.readers)
