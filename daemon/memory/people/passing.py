"""Erases what was said while its author had asked that nothing be remembered, once the visit has ended.

With it goes what was noted by thoughts that have lost their words since.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from daemon.core.errors import StoreError
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.forgetting import forget_heard
from daemon.memory.knowledge.records.forget import forget, forget_adrift
from daemon.memory.knowledge.records.ids import turn_id
from daemon.memory.knowledge.turn_index import delete_these
from daemon.memory.knowledge.turns import forget_summary
from daemon.memory.records import Speaks, as_json
from daemon.memory.stream.aging import note_aged

_EVERY_S: Final = 30.0
_AT_ONCE: Final = 50  # turns in one transaction, which has to be short
ITS_PARTS: Final = """
  SELECT p.id FROM inbox i CROSS JOIN outbox p ON p.conversation = i.conversation
    AND p.id >= substr(i.answered_by, 1, length(i.answered_by) - 1)
    AND p.id < substr(i.answered_by, 1, length(i.answered_by) - 1) || ':'
  WHERE i.answered_by IS NOT NULL AND
"""
"""In SQL, before a condition on rows `i` of `inbox`: the parts of the replies to them in `outbox`.

The first part has the key `…#0`; they are found by their keys, in which digits follow, and `:` comes behind digits.
With `+state` beside it SQLite doesn't go through all posts of a state instead.
"""

ENDED: Final = "+state IN ('sent', 'expired', 'dropped', 'dead', 'unknown')"
"""In SQL, of a post: it is over, however it ended."""

_SILENT: Final = """
    SELECT p.conversation, max(p.said_ms) AS said_ms FROM turns p WHERE p.passing = 1
      AND p.conversation NOT IN (SELECT value FROM json_each(:failed))
    GROUP BY p.conversation HAVING max(p.said_ms) <= :before LIMIT 20
"""


async def erase_passed(database: Database, clock: Clock, *, silence_ms: int) -> int:
    """Erase what passes in conversations that were silent for so long; gives the number of turns.

    A conversation in which it fails holds up no other. Raises the first such error in the end.
    """
    total, now, failed = 0, clock.now_ms(), dict[str, Exception]()
    while ended := await database.rows(_SILENT, before=now - silence_ms, failed=as_json(list(failed))):
        for row in ended:
            try:
                while erased := await database.write(partial(_erase_some, conversation=row["conversation"], now=now)):
                    total += erased
            except Exception as error:  # noqa: BLE001 - raised below
                failed[row["conversation"]] = error
    if failed:
        raise next(iter(failed.values()))
    return total


async def erase_turns(
    transaction: Transaction, rows: Sequence[tuple[int, str, str, str]], now: int, why: str, *, aged: bool = False
) -> None:
    """Erase turns (seq, conversation, speaker, ts) with what was made of them, and their words in the queues.

    Where they only `aged`, whole thoughts on them keep their words until they are as old themselves.
    """
    if aged:
        await note_aged(transaction, [row[0] for row in rows])
    for conversation in dict.fromkeys(row[1] for row in rows):
        first = min(row[0] for row in rows if row[1] == conversation)
        await forget_summary(transaction, conversation, first)
        await forget_heard(transaction, conversation, first, now, aged=aged)
    for _, conversation, _, ts in rows:
        await transaction.run(
            f"""
            UPDATE outbox SET body = '', cleared = 1
            WHERE conversation = :id AND {ENDED}
              AND id IN ({ITS_PARTS} i.conversation = :id AND i.ts = :ts)
            """,  # noqa: S608 - a constant of this module
            id=conversation,
            ts=ts,
        )
        await transaction.run(
            """
            UPDATE inbox SET body = '', envelope = '{}', params = '{}', cleared = 1, aside = 0
            WHERE conversation = :id AND ts = :ts AND state NOT IN ('new', 'claimed')
            """,
            id=conversation,
            ts=ts,
        )
    await forget(transaction, [turn_id(Speaks(speaker), seq) for seq, _, speaker, _ in rows], now, why, aged=aged)
    await delete_these(transaction, [row[0] for row in rows], now, why)


async def erase_what_passes(database: Database, clock: Clock, emit: Emit, *, silence_ms: int) -> None:
    """Erase it every half minute until cancelled."""
    while True:
        try:
            if gone := await erase_passed(database, clock, silence_ms=silence_ms):
                emit("memory.passed", turns=gone)
            while await database.write(partial(forget_adrift, now=clock.now_ms())):
                pass
        except StoreError as error:
            emit("store.failed", reason=error.message, hint=error.hint)
        await clock.sleep(_EVERY_S)


async def _erase_some(transaction: Transaction, conversation: str, now: int) -> int:
    rows = await transaction.rows(
        """
        SELECT seq, conversation, speaker, ts FROM turns WHERE conversation = :id AND passing = 1
        ORDER BY seq LIMIT :most
        """,
        id=conversation,
        most=_AT_ONCE,
    )
    if rows:
        await erase_turns(transaction, [tuple(row) for row in rows], now, "remembering was paused")
    return len(rows)
