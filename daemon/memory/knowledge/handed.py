"""The conversations of one thread that souls have handed to each other: what one knows of it, the others may know."""

from typing import Final

from daemon.memory.database import Transaction

OF_SOUL: Final = """
  EXISTS (SELECT 1 FROM conversations h WHERE h.id = :soul || substr(c.id, length(c.soul) + 1)
            AND (h.id = c.id OR h.handed_to <> '' OR c.handed_to <> ''))
"""
"""In SQL: conversation `c` belongs to `:soul`, or to another soul that was handed the same thread, or handed it on."""

_AMONG: Final = """
    SELECT o.id FROM conversations c
    CROSS JOIN conversations h ON h.workspace = c.workspace AND h.channel = c.channel AND h.thread = c.thread
      AND h.handed_to <> ''
    CROSS JOIN conversations o ON o.id IN (h.id, h.handed_to || substr(h.id, length(h.soul) + 1))
    WHERE c.id = :id
"""


async def handed_among(transaction: Transaction, conversation: str) -> frozenset[str]:
    """The conversation, and those of the other souls that had or have its thread."""
    rows = await transaction.rows(_AMONG, id=conversation)
    return frozenset({conversation, *(row["id"] for row in rows)})
