"""Turns that go by their age alone: thoughts that rest on them keep their words until they are as old themselves.

Who edits or deletes such a message, or asks to be forgotten, empties these all the same: which turn it was is kept, as
the row of its message is.
"""

import json
from collections.abc import Collection, Sequence

from daemon.memory.database import Transaction


async def note_aged(transaction: Transaction, seqs: Sequence[int]) -> None:
    """Keep which turns go by their age, where souls think whole thoughts."""
    await transaction.run(
        """
        INSERT OR IGNORE INTO aged_turns (seq, workspace, channel, ts, conversation, author)
        SELECT t.seq, c.workspace, c.channel, t.ts, t.conversation, t.author
        FROM turns t JOIN conversations c ON c.id = t.conversation
        WHERE t.seq IN (SELECT value FROM json_each(:seqs)) AND EXISTS (SELECT 1 FROM changed_words)
        """,
        seqs=json.dumps(list(seqs)),
    )


async def rest_on_sources(transaction: Transaction, gone: str, sources: Collection[str]) -> None:
    """Have what rests on a record that goes by the age of its sources rest on these themselves."""
    await transaction.run(
        """
        INSERT OR IGNORE INTO thought_sources (thought, source)
        SELECT s.thought, v.value FROM thought_sources s CROSS JOIN json_each(:sources) v WHERE s.source = :gone
        """,
        gone=gone,
        sources=json.dumps(sorted(sources)),
    )
