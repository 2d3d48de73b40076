"""The deletion of memories older than their limits, by the age of the message or note."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from daemon.core.errors import StoreError
from daemon.core.ports.services import Clock, Emit
from daemon.memory.database import Database, Transaction, Unit
from daemon.memory.knowledge.forgetting import forget_heard
from daemon.memory.knowledge.records.forget import forget, forget_adrift
from daemon.memory.knowledge.records.links import turn_id
from daemon.memory.knowledge.turn_index import delete_these
from daemon.memory.knowledge.turns import forget_summary
from daemon.memory.records import Speaks, as_json
from daemon.memory.stream.emptying import empty_thoughts_before, note_aged
from daemon.memory.tables import ITS_PARTS


async def drop_faded(transaction: Transaction, now: int, most: int) -> int:
    """Drop expired beliefs about people, old versions included, and return their number."""
    return await _drop(transaction, "until_ms <= :until", now, most)


async def drop_old_parts(transaction: Transaction, before_ms: int, most: int) -> int:
    """Drop old statements about the soul or its world (not values or its own text), and return their number."""
    return await _drop(transaction, "audience <> '' AND at_ms < :until", before_ms, most)


async def drop_old_goals(transaction: Transaction, before_ms: int, most: int) -> int:
    """Drop an admin's goals that were closed before a moment, and return their number."""
    rows = await transaction.rows(
        """
        DELETE FROM goals WHERE seq IN
          (SELECT seq FROM goals WHERE thought = '' AND closed_ms < :before LIMIT :most) RETURNING seq
        """,
        before=before_ms,
        most=most,
    )
    return len(rows)


async def _drop(transaction: Transaction, which: str, until: int, most: int) -> int:
    rows = await transaction.rows(
        f"""
        DELETE FROM mind_documents WHERE seq IN (SELECT seq FROM mind_documents WHERE {which} LIMIT :most)
        RETURNING seq
        """,  # noqa: S608 - literals of this module
        until=until,
        most=most,
    )
    return len(rows)


_EVERY_S: Final = 30.0
_AT_ONCE: Final = 50  # turns in one transaction, which has to be short
ENDED: Final = "+state IN ('sent', 'expired', 'dropped', 'dead', 'unknown')"
"""A condition in SQL: the post is over, sent or not."""

_SILENT: Final = """
    SELECT p.conversation, max(p.said_ms) AS said_ms FROM turns p WHERE p.passing = 1
      AND p.conversation NOT IN (SELECT value FROM json_each(:failed))
    GROUP BY p.conversation HAVING max(p.said_ms) <= :before LIMIT 20
"""


async def erase_passed(database: Database, clock: Clock, *, silence_ms: int) -> int:
    """Erase passing turns in conversations that were silent for so long, and return their number.

    After a failure the other conversations go on. Raises the first such error at the end.
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
    """Erase turns (seq, conversation, speaker, ts), what was made of them, and their words in the queues.

    If they only `aged`, whole thoughts on them keep their words until they are as old.
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
    """Erase passing turns every half minute until cancelled."""
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


_RETAINS_EVERY_S: Final = 3600.0
_AGED_AT_ONCE: Final = 20  # in one transaction, which has to be short
_REST: Final = 4.0  # times as long as a transaction took
_DAY_MS: Final = 86_400_000
_WHY: Final = "older than it is kept for"


@dataclass(frozen=True, slots=True)
class MemoryRetention:
    """The days for which each kind is kept, 0 for ever."""

    turns: int = 0
    facts: int = 0
    episodes: int = 0
    senses: int = 0
    journal: int = 0


async def expire(database: Database, clock: Clock, kept: MemoryRetention) -> int:
    """Erase expired memories, and return the number of turns and records. Raises StoreError."""
    now, total = clock.now_ms(), 0
    await _while_any(database, clock, partial(drop_faded, now=now, most=_AGED_AT_ONCE))
    if kept.turns:
        before = now - kept.turns * _DAY_MS
        total += await _while_any(database, clock, partial(_old_turns, now=now, before=before))
        await _while_any(database, clock, partial(empty_thoughts_before, before_ms=before, most=_AGED_AT_ONCE))
        await _while_any(database, clock, partial(drop_old_parts, before_ms=before, most=_AGED_AT_ONCE))
        await _while_any(database, clock, partial(drop_old_goals, before_ms=before, most=_AGED_AT_ONCE))
    for days, which in (
        (kept.facts, "kind = 'fact' AND id IN (SELECT id FROM facts WHERE valid_until_ms < :before)"),
        (kept.episodes, "kind IN ('episode', 'core', 'sphere') AND at_ms < :before"),
        (kept.senses, "kind = 'sense' AND at_ms < :before"),
        (kept.journal, "kind = 'journal' AND at_ms < :before"),
    ):
        if days:
            unit = partial(_old_records, which=which, now=now, before=now - days * _DAY_MS)
            total += await _while_any(database, clock, unit)
    return total


async def expire_periodically(database: Database, kept: MemoryRetention, clock: Clock, emit: Emit) -> None:
    """Erase expired memories at once and then every hour, until cancelled."""
    while True:
        try:
            if gone := await expire(database, clock, kept):
                emit("memory.expired", number=gone)
        except StoreError as error:
            emit("store.failed", reason=error.message, hint=error.hint)
        await clock.sleep(_RETAINS_EVERY_S)


async def _while_any(database: Database, clock: Clock, unit: Unit[int]) -> int:
    total, began = 0, clock.monotonic()
    while gone := await database.write(unit):
        total += gone
        await clock.sleep(_REST * (clock.monotonic() - began))
        began = clock.monotonic()
    return total


async def _old_turns(transaction: Transaction, now: int, before: int) -> int:
    rows = await transaction.rows(
        "SELECT seq, conversation, speaker, ts FROM turns WHERE said_ms < :before ORDER BY said_ms LIMIT :most",
        before=before,
        most=_AGED_AT_ONCE,
    )
    if rows:
        await erase_turns(transaction, [tuple(row) for row in rows], now, _WHY, aged=True)
    return len(rows)


async def _old_records(transaction: Transaction, which: str, now: int, before: int) -> int:
    rows = await transaction.rows(
        f"SELECT id FROM records WHERE {which} ORDER BY seq LIMIT :most",  # noqa: S608 - a literal
        before=before,
        most=_AGED_AT_ONCE,
    )
    return len(await forget(transaction, [row["id"] for row in rows], now, _WHY)) if rows else 0
