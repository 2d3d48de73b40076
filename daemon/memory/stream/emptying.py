"""Takes the words out of thoughts along their lineage: what rests on words that are gone or changed has none itself.

Numbers stay, so that the chain of thoughts is whole. A thought saw what its conversation had said by then, what stood
in its prompt from elsewhere, and the thoughts before it. Its private words stand with its reply as well, and go there.
What a thought made, as its goals, intentions and notes, goes with its words; a promise that is owed stays without any.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Final

from daemon.memory.database import Transaction
from daemon.memory.goals_in_force import OWED, WITHOUT_WORDS
from daemon.memory.private_words import WITHOUT_FREE_WORDS
from daemon.memory.stream.changed_words import note_changed

_AT_ONCE: Final = 500  # ids in one statement

_FOLLOWED: Final = """
    WITH RECURSIVE tainted (id) AS (
      {seeds}
      UNION SELECT s.thought FROM tainted t CROSS JOIN thought_sources s ON s.source = t.id
        CROSS JOIN thoughts h ON h.id = s.thought AND (h.emptied = 0 OR h.aged = 1)
      UNION SELECT n.record FROM tainted t CROSS JOIN thought_notes n ON n.thought = t.id)
    SELECT json_group_array(id) FROM tainted
    """  # what rests on an empty thought was emptied with it, or stored empty; on one that aged it may still have words
_SINCE: Final = """
    SELECT id FROM thoughts WHERE conversation = :id AND saw_to >= :seq AND emptied = 0
    UNION SELECT id FROM thoughts WHERE conversation = :id AND saw_to >= :seq AND aged = 1
    """
_THAT_SAW: Final = "SELECT thought AS id FROM thought_sources WHERE source IN (SELECT value FROM json_each(:ids))"
_EMPTY: Final = (
    """
    UPDATE thoughts SET input = '', output = '', emptied = 1, aged = 0
    WHERE id IN (SELECT value FROM json_each(:ids))
    """,
    f"""
    UPDATE turns SET thought = {WITHOUT_FREE_WORDS} WHERE speaker = 'soul' AND thought <> '{{}}'
      AND trace_id IN (SELECT trace_id FROM thoughts WHERE id IN (SELECT value FROM json_each(:ids)) AND trace_id <> '')
    """,  # noqa: S608 - a constant
    "DELETE FROM thought_sources WHERE thought IN (SELECT value FROM json_each(:ids)) AND source NOT GLOB 'TH_*'",
)  # what it saw may name a person; which thoughts it perceived stays
_MADE: Final = (
    """
    DELETE FROM intentions WHERE rowid IN (SELECT i.rowid FROM json_each(:ids) t
      CROSS JOIN intentions i ON i.id > t.value || '-i' AND i.id < t.value || '-j')
    """,
    f"""
    UPDATE goals SET {WITHOUT_WORDS}
    WHERE thought IN (SELECT value FROM json_each(:ids)) AND {OWED}
    """,  # noqa: S608 - a constant; its person has read that words will come
    f"DELETE FROM goals WHERE thought IN (SELECT value FROM json_each(:ids)) AND NOT ({OWED})",  # noqa: S608 - a constant
    "UPDATE goals SET why = '', changed_by = '' WHERE changed_by IN (SELECT value FROM json_each(:ids))",
    "DELETE FROM mind_documents WHERE thought IN (SELECT value FROM json_each(:ids)) AND audience <> ''",
)  # what a thought made, and the words that it left with what another one made
_MADE_FOR_GOOD: Final = (
    "DELETE FROM mind_documents WHERE thought IN (SELECT value FROM json_each(:ids))",
    "UPDATE thought_notes SET adrift = 1 WHERE thought IN (SELECT value FROM json_each(:ids))",
)
"""A soul's values, its own text and its notes outlive a thought that aged; a note that is adrift is soon forgotten."""


async def empty_thoughts_since(transaction: Transaction, conversation: str, seq: int) -> None:
    """Empty the thoughts that saw turn `seq` of their conversation or a later one, and all that rest on these."""
    await empty_along(transaction, _SINCE, id=conversation, seq=seq)


async def empty_thoughts_on(transaction: Transaction, ids: Iterable[str]) -> None:
    """Empty the thoughts that saw what has one of these ids, wherever it was, and all that rest on these.

    A turn that is still there, or is gone by its age, was seen in its own conversation, too.
    """
    every = list(dict.fromkeys(ids))
    await note_changed(transaction, every)
    for start in range(0, len(every), _AT_ONCE):
        await _empty_on(transaction, every[start : start + _AT_ONCE])


async def thoughts_on(transaction: Transaction, ids: Sequence[str]) -> list[str]:
    """The ids of the thoughts that saw what has one of these ids, of turns in their talks as well, and all on these."""
    seeds = f"""
        {_THAT_SAW} UNION SELECT h.id FROM turns t JOIN thoughts h ON h.conversation = t.conversation
          AND h.saw_to >= t.seq WHERE 'TU_' || t.seq IN (SELECT value FROM json_each(:ids))
        """  # noqa: S608 - constants
    return await transaction.gathered(_FOLLOWED.format(seeds=seeds), ids=json.dumps(list(ids)))


async def empty_these(transaction: Transaction, ids: Sequence[str]) -> None:
    """Empty these thoughts, and all that rest on them."""
    await empty_along(transaction, "SELECT value AS id FROM json_each(:ids)", ids=json.dumps(list(ids)))


async def empty_thoughts_before(transaction: Transaction, before_ms: int, most: int) -> int:
    """Empty the oldest thoughts from before a moment, by their age alone; gives how many."""
    rows = await transaction.rows(
        "SELECT id FROM thoughts WHERE emptied = 0 AND at_ms < :before ORDER BY at_ms LIMIT :most",
        before=before_ms,
        most=most,
    )
    if rows:
        emptied = [row["id"] for row in rows]
        await transaction.run(
            """
            UPDATE thoughts SET input = '', output = '', emptied = 1, aged = 1
            WHERE id IN (SELECT value FROM json_each(:ids))
            """,
            ids=json.dumps(emptied),
        )
        for statement in _MADE:
            await transaction.run(statement, ids=json.dumps(emptied))
    return len(rows)


async def empty_along(transaction: Transaction, seeds: str, but: str = "", **values: object) -> None:
    """Empty the thoughts whose ids `seeds` selects, with all that rest on these, `but` those of some conversations.

    Both are SQL of this package, and `values` are theirs.
    """
    ids = await transaction.gathered(_FOLLOWED.format(seeds=seeds), **values)
    if ids and but:
        ids = await transaction.gathered(
            f"""
            SELECT json_group_array(id) FROM thoughts
            WHERE id IN (SELECT value FROM json_each(:followed)) AND conversation NOT IN ({but})
            """,  # noqa: S608 - a constant
            followed=json.dumps(ids),
            **values,
        )
    for start in range(0, len(ids), _AT_ONCE):
        for statement in (*_EMPTY, *_MADE, *_MADE_FOR_GOOD):
            await transaction.run(statement, ids=json.dumps(ids[start : start + _AT_ONCE]))


async def _empty_on(transaction: Transaction, ids: Sequence[str]) -> None:
    await empty_along(transaction, _THAT_SAW, ids=json.dumps(ids))
    seqs = [int(one[3:]) for one in ids if one[:3] in {"TU_", "TL_"} and one[3:].isdecimal()]
    if not seqs:
        return
    rows = await transaction.rows(
        """
        SELECT conversation, min(seq) AS first FROM (
          SELECT conversation, seq FROM turns WHERE seq IN (SELECT value FROM json_each(:seqs))
          UNION ALL SELECT conversation, seq FROM aged_turns WHERE seq IN (SELECT value FROM json_each(:seqs)))
        GROUP BY conversation
        """,
        seqs=json.dumps(seqs),
    )
    for row in rows:
        await empty_thoughts_since(transaction, row["conversation"], row["first"])
