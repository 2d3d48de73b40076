"""Erases what is older than it may be kept for: what was said, facts that hold no more, episodes, senses, the journal.

Counted from when it was said or noted, so that it holds after any time in which no daemon ran.
"""

from dataclasses import dataclass
from functools import partial
from typing import Final

from daemon.core.errors import StoreError
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit
from daemon.memory.database import Database, Transaction, Unit
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.people.fading import drop_faded, drop_old_goals, drop_old_parts
from daemon.memory.people.passing import erase_turns
from daemon.memory.stream.emptying import empty_thoughts_before

_EVERY_S: Final = 3600.0
_AT_ONCE: Final = 20  # in one transaction, which has to be short
_REST: Final = 4.0  # times as long as a transaction took
_DAY_MS: Final = 86_400_000
_WHY: Final = "older than it is kept for"


@dataclass(frozen=True, slots=True)
class MemoryRetention:
    """For how many days each kind is kept; 0: for ever."""

    turns: int = 0
    facts: int = 0
    episodes: int = 0
    senses: int = 0
    journal: int = 0


async def expire(database: Database, clock: Clock, kept: MemoryRetention) -> int:
    """Erase what is too old; gives how many turns and records. Raises StoreError."""
    now, total = clock.now_ms(), 0
    await _while_any(database, clock, partial(drop_faded, now=now, most=_AT_ONCE))
    if kept.turns:
        before = now - kept.turns * _DAY_MS
        total += await _while_any(database, clock, partial(_old_turns, now=now, before=before))
        await _while_any(database, clock, partial(empty_thoughts_before, before_ms=before, most=_AT_ONCE))
        await _while_any(database, clock, partial(drop_old_parts, before_ms=before, most=_AT_ONCE))
        await _while_any(database, clock, partial(drop_old_goals, before_ms=before, most=_AT_ONCE))
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
    """Erase it every hour until cancelled, at once after a start."""
    while True:
        try:
            if gone := await expire(database, clock, kept):
                emit("memory.expired", number=gone)
        except StoreError as error:
            emit("store.failed", reason=error.message, hint=error.hint)
        await clock.sleep(_EVERY_S)


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
        most=_AT_ONCE,
    )
    if rows:
        await erase_turns(transaction, [tuple(row) for row in rows], now, _WHY, aged=True)
    return len(rows)


async def _old_records(transaction: Transaction, which: str, now: int, before: int) -> int:
    """`which` is a literal of this module."""
    rows = await transaction.rows(
        f"SELECT id FROM records WHERE {which} ORDER BY seq LIMIT :most",  # noqa: S608 - a literal
        before=before,
        most=_AT_ONCE,
    )
    return len(await forget(transaction, [row["id"] for row in rows], now, _WHY)) if rows else 0
