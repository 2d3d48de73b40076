"""Writes turns, each in one unit with its entry in the full-text index, so that no turn is found that isn't there.

Only this module writes to `turns`. An apology is none of the soul's words and is not indexed.
"""

from collections.abc import Sequence
from typing import Final

from daemon.core.perception import Audience, ConversationKey
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.knowledge.word_index import WordIndex
from daemon.memory.reader_codes import codes_of_turn
from daemon.memory.records import Turn, TurnKind, as_json

LONGEST_TURN: Final = 4_000
"""Characters of a turn that are searched."""

TURN_INDEX: Final = WordIndex("turn")


async def store_turns(
    transaction: Transaction,
    turns: Sequence[Turn],
    *,
    conversation: ConversationKey,
    audience: Audience,
    trace_id: str,
    now: int,
) -> None:
    """Store turns at the end of a conversation, for an audience."""
    indexed: list[_Indexed] = []
    for turn in turns:
        row = await transaction.insert(
            "turns",
            "RETURNING seq",
            conversation=str(conversation),
            speaker=turn.speaker,
            author=turn.author,
            name=turn.name,
            ts=turn.ts,
            body=turn.body,
            kind=turn.kind,
            model=turn.model,
            thought=as_json(turn.thought),
            audience=str(audience),
            trace_id=trace_id,
            said_ms=now,
        )
        assert row is not None
        if turn.kind is not TurnKind.APOLOGY:
            indexed.append(_entry(row["seq"], conversation, str(audience), turn.body))
    await TURN_INDEX.put(transaction, indexed)


async def reword_turns(transaction: Transaction, conversation: str, ts: str, text: str) -> Sequence[sqlite3.Row]:
    """Give a user's message other words; gives seq and author of the turns that changed."""
    changed = await transaction.rows(
        """
        UPDATE turns SET body = :text
        WHERE conversation = :conversation AND ts = :ts AND speaker = 'person' AND body <> :text
        RETURNING seq, author, audience
        """,
        text=text,
        conversation=conversation,
        ts=ts,
    )
    for turn in changed:
        await TURN_INDEX.remove(transaction, turn["seq"])
    where = ConversationKey.parse(conversation)
    await TURN_INDEX.put(transaction, [_entry(turn["seq"], where, turn["audience"], text) for turn in changed])
    return changed


async def delete_turns(transaction: Transaction, conversation: str, ts: str) -> Sequence[sqlite3.Row]:
    """Delete a user's message; gives seq and author of the turns that are gone."""
    gone = await transaction.rows(
        """
        DELETE FROM turns WHERE conversation = :conversation AND ts = :ts AND speaker = 'person'
        RETURNING seq, author
        """,
        conversation=conversation,
        ts=ts,
    )
    for turn in gone:
        await TURN_INDEX.remove(transaction, turn["seq"])
    return gone


_Indexed = tuple[int, Sequence[str], str]


def _entry(seq: int, where: ConversationKey, audience: str, body: str) -> _Indexed:
    return seq, codes_of_turn(where, audience), body[:LONGEST_TURN]
