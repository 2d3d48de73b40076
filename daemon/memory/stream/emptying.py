"""Takes the words out of thoughts along their lineage: what rests on words that are gone or changed has none itself.

Numbers stay, so that the chain of thoughts is whole. A thought saw what its conversation had said by then, what stood
in its prompt from elsewhere, and the thoughts before it. What a thought made, as its goals, goes with its words.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Final

from daemon.memory.database import Transaction

_AT_ONCE: Final = 500  # ids in one statement

_RESTING_ON: Final = """
    WITH RECURSIVE tainted (id) AS (
      SELECT id FROM thoughts WHERE {which} AND emptied = 0
      UNION SELECT s.thought FROM tainted t CROSS JOIN thought_sources s ON s.source = t.id
        CROSS JOIN thoughts h ON h.id = s.thought AND h.emptied = 0)
    """  # what rests on an empty thought was emptied with it, or stored empty: each is walked through once
_EMPTIED: Final = f"""
    {_RESTING_ON}
    UPDATE thoughts SET input = '', output = '', emptied = 1 WHERE id IN (SELECT id FROM tainted) RETURNING id
    """  # noqa: S608 - constants
_MADE: Final = (
    "DELETE FROM goals WHERE thought IN (SELECT value FROM json_each(:ids))",
    "UPDATE goals SET why = '', changed_by = '' WHERE changed_by IN (SELECT value FROM json_each(:ids))",
    "DELETE FROM mind_documents WHERE thought IN (SELECT value FROM json_each(:ids)) AND audience <> ''",
)  # what a thought made, and the words that it left with what another one made
_MADE_FOR_GOOD: Final = "DELETE FROM mind_documents WHERE thought IN (SELECT value FROM json_each(:ids))"


async def empty_thoughts_since(transaction: Transaction, conversation: str, seq: int) -> None:
    """Empty the thoughts that saw turn `seq` of their conversation or a later one, and all that rest on these."""
    rows = await transaction.rows(
        _EMPTIED.format(which="conversation = :id AND saw_to >= :seq"),
        id=conversation,
        seq=seq,
    )
    await let_go_what_they_made(transaction, [row["id"] for row in rows])


async def empty_thoughts_on(transaction: Transaction, ids: Iterable[str]) -> None:
    """Empty the thoughts that saw one of these turns or records, wherever it was, and all that rest on these.

    A turn that is still there was seen in its own conversation, too.
    """
    every = list(dict.fromkeys(ids))
    for start in range(0, len(every), _AT_ONCE):
        await _empty_on(transaction, every[start : start + _AT_ONCE])


async def let_go_what_they_made(transaction: Transaction, thoughts: Sequence[str], *, aged: bool = False) -> None:
    """Delete what these thoughts made, which has lost its ground with their words.

    A soul's values and its own text outlive a thought that `aged`.
    """
    if not thoughts:
        return
    for statement in _MADE if aged else (*_MADE, _MADE_FOR_GOOD):
        await transaction.run(statement, ids=json.dumps(list(thoughts)))


async def empty_these(transaction: Transaction, ids: Sequence[str]) -> None:
    """Empty these thoughts, and all that rest on them."""
    rows = await transaction.rows(
        _EMPTIED.format(which="id IN (SELECT value FROM json_each(:ids))"), ids=json.dumps(list(ids))
    )
    await let_go_what_they_made(transaction, [row["id"] for row in rows])


async def empty_thoughts_before(transaction: Transaction, before_ms: int, most: int) -> int:
    """Empty the oldest thoughts from before a moment; gives how many."""
    rows = await transaction.rows(
        "SELECT id FROM thoughts WHERE emptied = 0 AND at_ms < :before ORDER BY at_ms LIMIT :most",
        before=before_ms,
        most=most,
    )
    if rows:
        emptied = [row["id"] for row in rows]
        await transaction.run(
            "UPDATE thoughts SET input = '', output = '', emptied = 1 WHERE id IN (SELECT value FROM json_each(:ids))",
            ids=json.dumps(emptied),
        )
        await let_go_what_they_made(transaction, emptied, aged=True)
    return len(rows)


async def _empty_on(transaction: Transaction, ids: Sequence[str]) -> None:
    emptied = await transaction.rows(
        _EMPTIED.format(
            which="id IN (SELECT thought FROM thought_sources WHERE source IN (SELECT value FROM json_each(:ids)))"
        ),
        ids=json.dumps(list(ids)),
    )
    await let_go_what_they_made(transaction, [row["id"] for row in emptied])
    rows = await transaction.rows(
        """
        SELECT conversation, min(seq) AS first FROM turns WHERE seq IN
          (SELECT CAST(substr(value, 4) AS INTEGER) FROM json_each(:ids) WHERE value GLOB 'T[UL]_[0-9]*')
        GROUP BY conversation
        """,
        ids=json.dumps(list(ids)),
    )
    for row in rows:
        await empty_thoughts_since(transaction, row["conversation"], row["first"])
