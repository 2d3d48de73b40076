"""The documents of a mind, stored part by part: self model, world model, values and the soul's own text."""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Final

from daemon.core.lineage import kept_readers
from daemon.core.perception import ConversationKey, Readers
from daemon.core.tempo import STALE_AFTER_MS
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.records import as_json
from daemon.memory.thought_parts import StoredThought, came_before


class MindDocument(StrEnum):
    """The kind of document. Each audience has its own self model and world model, each soul its values and identity."""

    SELF_MODEL = "self_model"
    WORLD_MODEL = "world_model"
    VALUES = "values"
    IDENTITY = "identity"


OF_THE_SOUL: Final = frozenset({MindDocument.VALUES, MindDocument.IDENTITY})
"""The documents that a soul has once for all audiences."""

HOLD, DROP = "hold", "drop"
"""The acts of a row in a self model or world model: set the words, or remove the part."""


class NewPart(Value):
    """A new row: a part of a document, and its act.

    `attribute` is that of an entity, or the key of an uncertainty. `person` is the platform id of the person whom it is
    about. Without `until_ms` (ms, UTC) the part does not expire.
    """

    document: MindDocument
    part: str
    words: str = ""
    attribute: str = ""
    act: str = HOLD
    why: str = ""
    person: str = ""
    until_ms: int | None = None


class HeldPart(Value):
    """A part in force with its audience (empty: the soul's own), its words, and the id of its thought."""

    document: MindDocument
    audience: str
    part: str
    attribute: str
    act: str
    words: str
    person: str
    thought: str
    at_ms: int

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "HeldPart":
        return cls(MindDocument(row["document"]), *(row[name] for name in _PLAIN))


_PLAIN = ("audience", "part", "attribute", "act", "words", "person", "thought", "at_ms")
_OF_PART: Final = """
    soul = :soul AND workspace = :workspace AND audience = :audience AND document = :document AND part = :part
    AND attribute = :attribute
    """


async def add_part(transaction: Transaction, thought: StoredThought, new: NewPart) -> None:
    """Add a row, and put it in force in place of the one before. All rows of a part are its history.

    Triggers of the schema delete a row with its thought, and the row before is in force again.
    """
    slot = {"part": new.part, "attribute": new.attribute, **_document_of(thought, new.document)}
    await transaction.run(f"UPDATE mind_documents SET newest = 0 WHERE {_OF_PART} AND newest = 1", **slot)  # noqa: S608 - a constant
    await transaction.insert(
        "mind_documents",
        **slot,
        act=new.act,
        words=new.words,
        why=new.why,
        person=new.person,
        thought=thought.id,
        conversation=str(thought.conversation),
        readers=as_json(kept_readers(thought.readers)),
        at_ms=thought.now,
        until_ms=new.until_ms,
        newest=1,
    )


async def make_room(
    transaction: Transaction, thought: StoredThought, full: Collection[Sequence[HeldPart]]
) -> Sequence[HeldPart] | None:
    """Remove the stalest of these things. Return it, or None if even that was mentioned within the last two weeks.

    Each item of `full` is one thing with all its parts. A mind that is full can therefore still take in new things.
    """
    oldest = min(full, key=_said_last)
    if _said_last(oldest) + STALE_AFTER_MS > thought.now:
        return None
    for one in oldest:
        await add_part(transaction, thought, NewPart(one.document, one.part, attribute=one.attribute, act=DROP))
    return oldest


def _said_last(parts: Sequence[HeldPart]) -> int:
    return max(one.at_ms for one in parts)


async def parts_in_force(
    transaction: Transaction, thought: StoredThought, document: MindDocument
) -> tuple[HeldPart, ...]:
    """Return the parts in force that a thought may change, in the order of rows: its audience's, or the soul's own."""
    rows = await transaction.rows(
        """
        SELECT * FROM mind_documents WHERE soul = :soul AND workspace = :workspace AND audience = :audience
          AND document = :document AND newest = 1 AND act <> 'drop' AND (until_ms IS NULL OR until_ms > :now)
        ORDER BY seq
        """,
        now=thought.now,
        **_document_of(thought, document),
    )
    return tuple(map(HeldPart.from_row, rows))


async def parts_before(
    transaction: Transaction, conversation: ConversationKey, readers: Readers, now: int
) -> tuple[HeldPart, ...]:
    """Return the parts in force of self and world models that these readers may know: the workspace's, then their own.

    With outsiders among the readers, only parts from this conversation are returned.
    """
    held = list[HeldPart]()
    for audience in dict.fromkeys((f"workspace:{conversation.workspace}", str(readers.audience))):
        rows = await transaction.rows(
            """
            SELECT * FROM mind_documents WHERE soul = :soul AND workspace = :workspace AND audience = :audience
              AND document IN ('self_model', 'world_model') AND newest = 1 AND act <> 'drop'
              AND (until_ms IS NULL OR until_ms > :now) ORDER BY seq
            """,
            soul=conversation.soul,
            workspace=conversation.workspace,
            audience=audience,
            now=now,
        )
        held += [HeldPart.from_row(row) for row in rows if came_before(row, conversation, readers)]
    return tuple(held)


async def rows_of_soul(transaction: Transaction, soul: str, document: MindDocument) -> tuple[HeldPart, ...]:
    """Return all rows of the soul's values, or of its text, oldest first."""
    rows = await transaction.rows(
        """
        SELECT * FROM mind_documents WHERE soul = :soul AND workspace = '' AND audience = '' AND document = :document
        ORDER BY seq
        """,
        soul=soul,
        document=document,
    )
    return tuple(map(HeldPart.from_row, rows))


def _document_of(thought: StoredThought, document: MindDocument) -> Mapping[str, str]:
    where, own = thought.conversation, document not in OF_THE_SOUL
    return {
        "soul": where.soul,
        "workspace": where.workspace if own else "",
        "audience": str(thought.audience) if own else "",
        "document": document,
    }
