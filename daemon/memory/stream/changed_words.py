"""The newest ids whose words changed or went: a thought that is being thought meanwhile may have seen them.

Nothing is noted before a soul that thinks whole thoughts has begun to read memory.
"""

import json
from collections.abc import Sequence
from typing import Final

from daemon.memory.database import Transaction

_KEPT: Final = 20_000  # the newest ids; who began to read before the oldest of them counts as having seen changed words
_AT_ONCE: Final = 500
_ANYTHING: Final = ""  # in place of an id: all that was read before may have changed


async def note_changed(transaction: Transaction, ids: Sequence[str]) -> None:
    """Note that the words with these ids are others by now, or gone."""
    if not ids or await transaction.one("SELECT 1 FROM changed_words LIMIT 1") is None:
        return
    for start in range(0, len(ids), _AT_ONCE):
        await transaction.run(
            "INSERT INTO changed_words (source) SELECT value FROM json_each(:ids)",
            ids=json.dumps(ids[start : start + _AT_ONCE]),
        )
    await transaction.run(
        "DELETE FROM changed_words WHERE seq <= (SELECT max(seq) FROM changed_words) - :kept", kept=_KEPT
    )


async def forget_noted(transaction: Transaction, pattern: str) -> None:
    """Take ids that are like a GLOB pattern out of it; all that was read before counts as changed."""
    await transaction.run("UPDATE changed_words SET source = '' WHERE source GLOB :pattern", pattern=pattern)
    await note_changed(transaction, [_ANYTHING])


async def newest_change(transaction: Transaction) -> int:
    """The number of the newest change; 0 where none is noted yet."""
    row = await transaction.one("SELECT max(seq) AS seq FROM changed_words")
    return int(row["seq"] or 0) if row else 0


async def begin_noting(transaction: Transaction) -> int:
    """Have changes noted from now on; gives the number of the newest."""
    if not (newest := await newest_change(transaction)):
        await transaction.insert("changed_words", source=_ANYTHING)
        newest = await newest_change(transaction)
    return newest


async def changed_since(transaction: Transaction, ids: Sequence[str], seq: int) -> bool:
    """Whether one of these has changed since the change `seq`, or may have: it is no longer known."""
    row = await transaction.one(
        """
        SELECT (SELECT min(seq) FROM changed_words) > :seq + 1
          OR EXISTS (SELECT 1 FROM changed_words c WHERE c.seq > :seq
                       AND (c.source = :anything OR c.source IN (SELECT value FROM json_each(:ids)))) AS changed
        """,
        seq=seq,
        anything=_ANYTHING,
        ids=json.dumps(list(ids)),
    )
    return bool(row and row["changed"])
