"""The level of each function of a soul's mind: what was decided, why, and how its last parts fared.

A function falls a level when too many of its parts were refused, and rises only when an admin says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from daemon.core.authority import Authority, Function, Level
from daemon.core.perception import ConversationKey
from daemon.memory.database import Database, Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.senses.moments import tell_of_fall

JUDGED: Final = 40
"""By so many of a function's newest parts it is judged."""

MOST_REFUSED: Final = JUDGED // 4
"""From so many refused ones among them on it falls a level."""

_TAKEN, _REFUSED = "0", "1"
_HOUSE: Final = "house"


@dataclass(frozen=True, slots=True)
class FunctionLevel:
    """The level of a function, why and since when (ms, UTC; 0: from the beginning), decided by whom.

    `parts` are those of its newest `JUDGED` parts that count towards its level, `refused` how many of them were.
    """

    function: str
    level: int
    why: str
    since_ms: int
    by: str
    parts: int
    refused: int


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A function went from level `before` to `level` (ms, UTC); `by` is an admin, or the house where it fell."""

    at_ms: int
    function: str
    before: int
    level: int
    by: str
    why: str


async def authority_of(transaction: Transaction, soul: str) -> Authority:
    """The levels of a soul's functions."""
    rows = await transaction.rows("SELECT function, level FROM mind_authority WHERE soul = :soul", soul=soul)
    known = set(Function)  # a later version's functions may stand there, too
    return Authority(
        {Function(row["function"]): Level.stored(row["level"]) for row in rows if row["function"] in known}
    )


async def count_parts(
    transaction: Transaction, where: ConversationKey, fared: Mapping[Function, tuple[int, int]], now: int
) -> None:
    """Note how many parts of each function a thought just took and refused; one that fails too often falls a level.

    The soul perceives that in its next thought there.
    """
    soul = where.soul
    for function, (taken, refused) in fared.items():
        if not taken + refused:
            continue
        before = await _row(transaction, soul, function)
        level = (await authority_of(transaction, soul)).level(function)
        recent = ((before["recent"] if before else "") + _TAKEN * taken + _REFUSED * refused)[-JUDGED:]
        wrong = recent.count(_REFUSED)
        falls = len(recent) == JUDGED and wrong >= MOST_REFUSED and level > Level.KEPT
        if falls:
            why = f"{wrong} of its last {JUDGED} parts were refused"
            await decide_level(transaction, soul, function, Level(level - 1), why=why, by=_HOUSE, now=now)
            await tell_of_fall(transaction, str(where), function, Level(level - 1), now)
        else:
            await _keep(transaction, soul, function, level, recent)


async def decide_level(
    transaction: Transaction, soul: str, function: Function, level: Level, *, why: str, by: str, now: int
) -> None:
    """Give a function a level, with a line of history; what its parts were so far counts no more."""
    before = (await authority_of(transaction, soul)).level(function)
    values = {"soul": soul, "function": str(function), "level": int(level), "why": why, "decided_by": by}
    await transaction.insert(
        "mind_authority",
        """
        ON CONFLICT (soul, function) DO UPDATE SET level = excluded.level, why = excluded.why,
          decided_by = excluded.decided_by, since_ms = excluded.since_ms, recent = ''
        """,
        **values,
        since_ms=now,
        recent="",
    )
    await transaction.insert("mind_authority_history", **values, level_before=int(before), at_ms=now)


async def levels_in_words(database: Database, soul: str) -> tuple[FunctionLevel, ...]:
    """The level of each function of a soul, in the order of the functions. Raises StoreError."""

    async def unit(transaction: Transaction) -> tuple[FunctionLevel, ...]:
        rows = await transaction.rows("SELECT * FROM mind_authority WHERE soul = :soul", soul=soul)
        known = {row["function"]: row for row in rows}
        levels = await authority_of(transaction, soul)
        return tuple(_listed(one, levels.level(one), known.get(one)) for one in Function)

    return await database.read(unit)


async def level_changes(database: Database, soul: str, function: str, most: int) -> tuple[LevelChange, ...]:
    """The newest changes of a soul's levels, oldest first, of one function where it is given. Raises StoreError."""
    rows = await database.rows(
        """
        SELECT * FROM mind_authority_history WHERE soul = :soul AND :function IN ('', function)
        ORDER BY seq DESC LIMIT :most
        """,
        soul=soul,
        function=function,
        most=most,
    )
    return tuple(_change(row) for row in reversed(rows))


def _change(row: sqlite3.Row) -> LevelChange:
    before, level = Level.stored(row["level_before"]), Level.stored(row["level"])
    return LevelChange(row["at_ms"], row["function"], before, level, row["decided_by"], row["why"])


def _listed(function: Function, level: Level, row: sqlite3.Row | None) -> FunctionLevel:
    if row is None:
        return FunctionLevel(function, level, "", 0, "", 0, 0)
    recent: str = row["recent"]
    return FunctionLevel(
        function, level, row["why"], row["since_ms"], row["decided_by"], len(recent), recent.count(_REFUSED)
    )


async def _row(transaction: Transaction, soul: str, function: Function) -> sqlite3.Row | None:
    return await transaction.one(
        "SELECT * FROM mind_authority WHERE soul = :soul AND function = :function", soul=soul, function=str(function)
    )


async def _keep(transaction: Transaction, soul: str, function: Function, level: Level, recent: str) -> None:
    await transaction.insert(
        "mind_authority",
        "ON CONFLICT (soul, function) DO UPDATE SET recent = excluded.recent",
        soul=soul,
        function=str(function),
        level=int(level),
        why="",
        decided_by="",
        since_ms=0,
        recent=recent,
    )
