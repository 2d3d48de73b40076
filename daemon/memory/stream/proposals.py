"""What a thought proposes and an admin settles: rows among the questions for permission, which hold no words.

A proposal names a thought and one of its fields. An admin reads the words in the stream; where these are gone
there is nothing to settle any more.
"""

from dataclasses import dataclass
from typing import Final

from daemon.core.authority import FUNCTION_OF
from daemon.core.perception import ConversationKey, Readers
from daemon.core.timetable import MINUTE_MS
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.records import as_json, conversation_columns, object_or_nothing
from daemon.memory.thought_parts import StoredThought
from daemon.memory.thought_readability import came_before

OF_THE_MIND: Final = "mind."
"""What the tool's name of each proposal begins with."""

OPEN_FOR_MS: Final = 14 * 24 * 60 * MINUTE_MS
MOST_WAITING: Final = 100
"""The most proposals of a soul that wait at once."""

MOST_PERCEIVED: Final = 8
"""The most settled proposals that one thought perceives."""

_ITS_PROPOSAL: Final = "tool GLOB 'mind.*'"


@dataclass(frozen=True, slots=True)
class Settled:
    """A decision on a proposal that its soul has not perceived yet; `value` is JSON, empty where its words are gone."""

    id: str
    thought: str
    field: str
    allowed: bool
    value: str


async def propose(transaction: Transaction, thought: StoredThought, field: str) -> None:
    """Ask the admin about a field of a thought; where too many wait already, nothing is asked."""
    conversation = thought.conversation
    waiting = await transaction.one(
        f"SELECT count(*) AS n FROM approvals WHERE soul = :soul AND state = 'waiting' AND {_ITS_PROPOSAL}",  # noqa: S608 - a constant
        soul=conversation.soul,
    )
    if waiting is not None and waiting["n"] >= MOST_WAITING:
        return
    await transaction.insert(
        "approvals",
        id=f"{thought.id}-{field}",
        **conversation_columns(conversation),
        turn=0,
        tool=f"{OF_THE_MIND}{FUNCTION_OF[field]}",
        arguments=as_json({"thought": thought.id, "field": field}),
        asked="[]",
        audience=str(thought.audience),
        state="waiting",
        expires_ms=thought.now + OPEN_FOR_MS,
        created_ms=thought.now,
    )


async def settle_proposal(transaction: Transaction, id_: str, state: str, by: str, now: int) -> None:
    """Close a proposal that waits: `used` and `refused` its soul perceives, `expired` it doesn't."""
    await transaction.run(
        """
        UPDATE approvals SET state = :state, decided_by = :by, decided_ms = :now WHERE id = :id AND state = 'waiting'
        """,
        state=state,
        by=by,
        now=now,
        id=id_,
    )


async def settled_in(transaction: Transaction, conversation: ConversationKey, readers: Readers) -> tuple[Settled, ...]:
    """What was decided of the proposals of a conversation that no thought there has perceived, the oldest first."""
    rows = await transaction.rows(
        f"""
        SELECT a.id, a.state, a.arguments, t.id AS thought, t.output, t.emptied, t.conversation,
               t.audience, t.readers FROM approvals a
        JOIN thoughts t ON t.id = CASE WHEN json_valid(a.arguments) THEN json_extract(a.arguments, '$.thought') END
        WHERE a.conversation = :id AND a.{_ITS_PROPOSAL} AND a.state IN ('used', 'refused')
          AND NOT EXISTS (SELECT 1 FROM thought_sources s WHERE s.source = a.id)
        ORDER BY a.decided_ms, a.id LIMIT :most
        """,  # noqa: S608 - a constant
        id=str(conversation),
        most=MOST_PERCEIVED,
    )
    return tuple(_settled(row, conversation, readers) for row in rows)


def _settled(row: sqlite3.Row, conversation: ConversationKey, readers: Readers) -> Settled:
    field = str(object_or_nothing(row["arguments"]).get("field", ""))
    shown = not row["emptied"] and came_before(row, conversation, readers)
    value = object_or_nothing(row["output"]).get(field) if shown else None
    return Settled(row["id"], row["thought"], field, row["state"] == "used", "" if value is None else as_json(value))
