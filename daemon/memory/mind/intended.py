"""What a thought means to do later: intentions of memory that come back in a prompt when due, and post nothing.

Each is named after its thought, goes with its words, and came before whom that came.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from daemon.core.perception import ConversationKey, Place, Readers
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.mind.goal_changes import same_words
from daemon.memory.queues.intention_rows import IN_MIND, NewIntention
from daemon.memory.queues.intentions import store_intentions
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.records import as_json
from daemon.memory.thought_parts import PartsTaken, StoredThought
from daemon.memory.thought_readability import came_before

MOST_WAITING: Final = 12
"""The most that the thoughts of one conversation mean to do."""

_OPEN: Final = f"""
    SELECT i.id, i.content, i.due_ms, i.conversation, t.id AS thought, t.audience, t.readers FROM intentions i
    JOIN thoughts t ON t.id = substr(i.id, 1, instr(i.id, '-') - 1)
    WHERE i.conversation = :id AND i.slot GLOB '{IN_MIND}*' AND i.content <> ''
      AND (i.state = 'waiting' OR (i.state = 'due' AND i.reason = ''))
    ORDER BY i.due_ms, i.id
    """  # noqa: S608 - a constant
_CAME_BACK: Final = "came back"


@dataclass(frozen=True, slots=True)
class ToDo:
    """What is meant to be done at a time (ms, UTC)."""

    words: str
    due_ms: int


@dataclass(frozen=True, slots=True)
class Intended:
    """What was meant to be done by now, by the thought of this id."""

    id: str
    words: str
    due_ms: int
    thought: str


@dataclass(frozen=True, slots=True)
class IntendedInThought:
    """What one thought means to do later; `refused` are the reasons why others of it can't take effect at all."""

    planned: tuple[ToDo, ...]
    refused: Sequence[str] = ()
    field: ClassVar[str] = "memory_ops"

    @property
    def size(self) -> int:
        """See `ThoughtPart`."""
        return len(self.planned) + len(self.refused)

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        """See `ThoughtPart.take`."""
        reasons = [await _intend(transaction, one, thought, seq) for seq, one in enumerate(self.planned, start=1)]
        return PartsTaken(reasons.count(""), (*self.refused, *filter(None, reasons)))


@dataclass(frozen=True, slots=True)
class IntentionsCameBack:
    """These stood in the prompt of an answer: they are over."""

    ids: tuple[str, ...]

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`."""
        await transaction.run(
            f"""
            UPDATE intentions SET state = 'due', reason = '{_CAME_BACK}', settled_ms = :now
            WHERE conversation = :conversation AND id IN (SELECT value FROM json_each(:ids))
              AND slot GLOB '{IN_MIND}*' AND state IN ('waiting', 'due')
            """,  # noqa: S608 - constants
            conversation=str(asker.conversation),
            ids=as_json(list(self.ids)),
            now=now,
        )


async def intended_now(
    transaction: Transaction, conversation: ConversationKey, readers: Readers, now: int
) -> tuple[Intended, ...]:
    """What was meant to be done in a conversation by now, and came back in no prompt yet, as far as these may know."""
    rows = await transaction.rows(_OPEN, id=str(conversation))
    return tuple(
        Intended(row["id"], row["content"], row["due_ms"], row["thought"])
        for row in rows
        if row["due_ms"] <= now and came_before(row, conversation, readers)
    )


async def _intend(transaction: Transaction, one: ToDo, thought: StoredThought, seq: int) -> str:
    """Store what is meant to be done; gives why it can't be, empty where it was."""
    waiting = await transaction.rows(_OPEN, id=str(thought.conversation))
    if any(_says_the_same(row, one, thought) for row in waiting):
        return "duplicate"
    if len(waiting) >= MOST_WAITING:
        return "too_many"
    room = await transaction.one("SELECT place FROM conversations WHERE id = :id", id=str(thought.conversation))
    assert room is not None  # the thought was thought there
    name = f"{thought.id}-i{seq}"
    refused = await store_intentions(
        transaction,
        conversation=thought.conversation,
        place=Place(room["place"]),
        audience=thought.audience,
        intentions=(
            NewIntention(slot=f"{IN_MIND}{name}", due_ms=one.due_ms, content=one.words, behalf=thought.person, id=name),
        ),
        now=thought.now,
        most=MOST_WAITING,
    )
    return "too_far" if refused else ""


def _says_the_same(row: sqlite3.Row, one: ToDo, thought: StoredThought) -> bool:
    return same_words(row["content"]) == same_words(one.words) and came_before(
        row, thought.conversation, thought.readers
    )
