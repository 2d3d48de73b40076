"""The deletion of what is older than its limits, and of what is said while remembering is paused.

Readers find the rows, some hundreds at a time, along an index on their age. The writer changes them by key in short
transactions with pauses. No scan ever holds the write lock.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from daemon.core.errors import StoreError
from daemon.core.ports import DutyTurn
from daemon.core.ports.services import Clock, Emit
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.forgetting import forget_heard
from daemon.memory.knowledge.records.forget import forget, forget_adrift
from daemon.memory.knowledge.records.links import turn_id
from daemon.memory.knowledge.turn_index import delete_these
from daemon.memory.knowledge.turns import forget_summary
from daemon.memory.records import Speaks, as_json
from daemon.memory.row_conditions import ITS_PARTS
from daemon.memory.spending.costs import sum_up_calls
from daemon.memory.stream.emptying import empty_by_age, note_aged
from daemon.memory.tables import TABLES, Age, Table

_EVERY_S: Final = 30.0
_AT_ONCE: Final = 50  # rows in one transaction, which has to be short
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
        await blank_reply(transaction, conversation, ts)
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


async def blank_reply(transaction: Transaction, conversation: str, ts: str) -> None:
    """Blank the posts of the reply to a message that are over, sent or not."""
    await transaction.run(
        f"""
        UPDATE outbox SET body = '', cleared = 1 WHERE +state IN ('sent', 'expired', 'dropped', 'dead', 'unknown')
          AND conversation = :id AND id IN ({ITS_PARTS} i.conversation = :id AND i.ts = :ts)
        """,  # noqa: S608 - a constant
        id=conversation,
        ts=ts,
    )


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


PRUNED_EVERY_S: Final = 3600.0
SETTINGS: Final = frozenset(age.setting for table in TABLES for age in table.ages if age.setting)
"""The settings with the days for which rows are kept, 0 for ever."""

_LOOKED_AT: Final = 500  # rows in one read
_FEW: Final = 20  # rows in one transaction from which much else is made
_LEAST_REST_S: Final = 0.05
_REST: Final = 4  # times as long as a transaction took; a slow disk gets longer rests
_DAY_MS: Final = 86_400_000
_WHY: Final = "older than it is kept for"
_STILL_OLD: Final = "SELECT {0} FROM {1} WHERE {2} IN (SELECT value FROM json_each(:keys)) AND {3} AND {4} ORDER BY {2}"
"""A row may have changed since the read that found it."""


async def prune(database: Database, clock: Clock, days: Mapping[str, int]) -> int:
    """Delete or change rows older than the days of their settings. Return the number of rows.

    After a failure the other rules go on. Raises the first such error at the end.
    """
    total, failed = 0, list[Exception]()
    for table in TABLES:
        for age in table.ages:
            kept = days.get(age.setting, 0)
            if not kept and age.setting:
                continue
            try:
                total += await _follow(database, clock, table, age, clock.now_ms() - kept * _DAY_MS + (not age.setting))
            except Exception as error:  # noqa: BLE001 - raised below
                failed.append(error)
    if failed:
        raise failed[0]
    return total


async def prune_periodically(
    database: Database, days: Mapping[str, int], clock: Clock, emit: Emit, turn: DutyTurn
) -> None:
    """Prune until cancelled, at each turn of this daemon: one of several has it every PRUNED_EVERY_S seconds."""
    while True:
        pause = PRUNED_EVERY_S
        try:
            async with turn() as wait:
                if wait:
                    pause = wait
                elif gone := await prune(database, clock, days):
                    emit("memory.pruned", rows=gone)
        except StoreError as error:
            emit("store.failed", reason=error.message, hint=error.hint)
        await clock.sleep(pause)


async def _follow(database: Database, clock: Clock, table: Table, age: Age, before_ms: int) -> int:
    total, after, at_once = 0, -1, _FEW if table.step else _AT_ONCE
    old = f"""
        SELECT {table.key} AS key, {age.column} AS age, CASE WHEN {age.only} THEN 1 ELSE 0 END AS goes
        FROM {table.name} WHERE {age.found} AND {age.column} > :after AND {age.column} < :before
        ORDER BY {age.column} LIMIT :most
        """  # noqa: S608 - declared there
    while True:
        rows = await database.rows(old, after=after, before=before_ms, most=_LOOKED_AT)
        keys = [row["key"] for row in rows if row["goes"]]
        for start in range(0, len(keys), at_once):
            began = clock.monotonic()
            change = partial(change_old, table=table, age=age, keys=keys[start : start + at_once], now=clock.now_ms())
            total += await database.write(change)
            await clock.sleep(max(_LEAST_REST_S, _REST * (clock.monotonic() - began)))
        if len(rows) < _LOOKED_AT:
            return total
        after = rows[-1]["age"]


async def change_old(transaction: Transaction, table: Table, age: Age, keys: Sequence[object], now: int) -> int:
    """Change or delete the rows of these keys that are still old. Return their number."""
    columns = "seq, conversation, speaker, ts" if table.name == "turns" else table.key
    still = _STILL_OLD.format(columns, table.name, table.key, age.found, age.only)
    rows = [tuple(row) for row in await transaction.rows(still, keys=as_json(list(keys)))]
    keys = [row[0] for row in rows]
    match table.name:
        case "turns":
            await erase_turns(transaction, rows, now, _WHY, aged=True)
            return len(rows)
        case "records" | "facts":
            return len(await forget(transaction, [str(key) for key in keys], now, _WHY))
        case "thoughts":
            await empty_by_age(transaction, [str(key) for key in keys])
            return len(keys)
        case "llm_calls":
            return await sum_up_calls(transaction, keys)
    act = f"UPDATE {table.name} SET {age.change}" if age.change else f"DELETE FROM {table.name}"  # noqa: S608 - declared there
    return await transaction.run_for_each(f"{act} WHERE {table.key} = :key", keys)
