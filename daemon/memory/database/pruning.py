"""The deletion of old traces and old texts in the queues.

Turns, notes and waiting rows are never deleted. Readers find the rows, some hundreds at a time, along an index on their
age. The writer changes them by key in short transactions with pauses. No scan ever holds the write lock.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.errors import StoreError
from daemon.core.ports import DutyTurn
from daemon.core.ports.services import Clock, Emit
from daemon.memory.database import Database, Transaction

PRUNED_EVERY_S: Final = 6 * 3600.0
_LOOKED_AT: Final = 500  # rows in one read
_AT_ONCE: Final = 50  # rows in one transaction, which has to be short
_LEAST_REST_S: Final = 0.05
_REST: Final = 4  # times as long as a transaction took; a slow disk gets longer rests
_DAY_MS: Final = 86_400_000

_SETTLED_APPROVALS: Final = ("refused", "expired", "used", "failed", "unknown")
_TEXT_SETTLED: Final = "state IN ('answered', 'ignored', 'withdrawn', 'stale', 'dropped')"
_NOBODY_ASKS: Final = "NOT EXISTS (SELECT 1 FROM approvals a WHERE a.id = outbox.approval AND a.state = 'waiting')"


@dataclass(frozen=True, slots=True)
class Retention:
    """The number of days that records are kept, 0 for ever.

    `traces` are state histories, finished schedules and questions, and consolidation runs. `texts` are those of settled
    rows in the queues.
    """

    traces: int = 90
    texts: int = 30
    jobs: int = 7
    calls: int = 90


@dataclass(frozen=True, slots=True)
class _Rule:
    """The old rows of a table (by an index, and by `only`), and the change to each by its `key`."""

    table: str
    key: str
    age: str
    change: str
    found_by: str = "1 = 1"
    only: str = "1 = 1"

    def old(self) -> str:
        """Return the SQL for the keys and ages of the oldest rows after `:after`, kept ones included."""
        return f"""
            SELECT {self.key} AS key, {self.age} AS age, CASE WHEN {self.only} THEN 1 ELSE 0 END AS goes
            FROM {self.table} WHERE {self.found_by} AND {self.age} > :after AND {self.age} < :before
            ORDER BY {self.age} LIMIT :most
        """  # noqa: S608 - constants of this module

    def statement(self) -> str:
        """Return the SQL that changes the row `:key`, if the row still meets the conditions."""
        return f"{self.change} WHERE {self.key} = :key AND {self.found_by} AND {self.only}"


def _delete(table: str, key: str, age: str, *, found_by: str = "1 = 1", only: str = "1 = 1") -> _Rule:
    return _Rule(table, key, age, f"DELETE FROM {table}", found_by, only)  # noqa: S608 - constants


_TRACES: Final = (
    _delete("transitions", "seq", "at_ms"),
    _delete("sessions", "id", "seen_ms"),
    _delete("session_events", "id", "at_ms"),
    _delete("pairings", "id", "created_ms"),
    _delete("wrong_codes", "id", "at_ms"),
    _delete("session_titles", "id", "noted_ms"),
    _delete("shared_messages", "id", "created_ms", only="state NOT IN ('held', 'waiting')"),
    _delete("consolidations", "id", "began_ms", only="state <> 'running'"),
    *(_delete("intentions", "id", "due_ms", found_by=f"state = '{state}'") for state in ("due", "cancelled")),
    *(_delete("approvals", "id", "created_ms", found_by=f"state = '{state}'") for state in _SETTLED_APPROVALS),
    _delete("inbox", "id", "received_ms", found_by="modality <> 'words'", only="state NOT IN ('new', 'claimed')"),
)
_TEXTS: Final = (
    _Rule(
        "inbox",
        "id",
        "received_ms",
        "UPDATE inbox SET cleared = 1, body = '', envelope = '{}', aside = 0",
        found_by="cleared = 0",
        only=f"{_TEXT_SETTLED} AND modality = 'words'",
    ),
    _Rule(
        "outbox",
        "id",
        "created_ms",
        "UPDATE outbox SET cleared = 1, body = ''",
        found_by="cleared = 0",
        only=f"state IN ('sent', 'expired', 'dropped') AND {_NOBODY_ASKS}",
    ),
)
_TOLD: Final = _Rule(
    "source_events", "seq", "at_ms", "UPDATE source_events SET cleared = 1, words = ''", found_by="cleared = 0"
)
_NO_TURN: Final = """
    NOT EXISTS (SELECT 1 FROM turns t WHERE t.conversation = shared_files.conversation AND t.ts = shared_files.ts
                AND t.speaker <> 'soul')
    """  # the message was never answered, and its file becomes no record
_FILES: Final = (
    _delete("shared_files", "seq", "heard_ms", found_by="state IN ('waiting', 'refused')"),
    _delete("shared_files", "seq", "heard_ms", found_by="state = 'read'", only=_NO_TURN),
)
_READINGS: Final = (
    _delete("readings", "seq", "at_ms", only="state <> 'waiting'"),
    _Rule(
        "readings",
        "seq",
        "at_ms",
        "UPDATE readings SET state = 'dropped', words = '', wakes_ms = NULL",
        only="state = 'waiting'",
    ),
)
_JOBS: Final = (_delete("jobs", "seq", "settled_ms", found_by="state = 'done'"),)
_CALLS: Final = _Rule("llm_calls", "seq", "started_ms", "DELETE FROM llm_calls")


async def prune(database: Database, clock: Clock, kept: Retention) -> int:
    """Delete rows older than their limits, and return the number of rows. Raises StoreError."""
    total = 0
    for days, rules in (
        (kept.traces, _TRACES),
        (kept.texts, (*_TEXTS, _TOLD, *_READINGS, *_FILES)),
        (kept.jobs, _JOBS),
        (kept.calls, (_CALLS,)),
    ):
        for rule in rules if days else ():
            total += await _follow(database, clock, rule, clock.now_ms() - days * _DAY_MS)
    return total


async def _follow(database: Database, clock: Clock, rule: _Rule, before_ms: int) -> int:
    total, after = 0, -1
    while True:
        rows = await database.rows(rule.old(), after=after, before=before_ms, most=_LOOKED_AT)
        keys = [row["key"] for row in rows if row["goes"]]
        for start in range(0, len(keys), _AT_ONCE):
            began = clock.monotonic()
            total += await _change(database, rule, keys[start : start + _AT_ONCE])
            await clock.sleep(max(_LEAST_REST_S, _REST * (clock.monotonic() - began)))
        if len(rows) < _LOOKED_AT:
            return total
        after = rows[-1]["age"]


async def _change(database: Database, rule: _Rule, keys: Sequence[object]) -> int:
    if rule is _CALLS:
        return await database.write(lambda transaction: _sum_up(transaction, keys))
    return await database.write(lambda transaction: transaction.run_for_each(rule.statement(), keys))


async def _sum_up(transaction: Transaction, keys: Sequence[object]) -> int:
    """Add model calls to the sums of their days, and delete them."""
    days: dict[tuple[str, ...], dict[str, float]] = {}
    gone = 0
    for key in keys:
        if (call := await transaction.one("DELETE FROM llm_calls WHERE seq = :key RETURNING *", key=key)) is None:
            continue  # another daemon was first
        gone += 1
        day = dt.datetime.fromtimestamp(call["started_ms"] / 1000, dt.UTC).date().isoformat()
        sums = days.setdefault((day, call["role"], call["step"], call["model"]), dict.fromkeys(_SUMS, 0))
        one = {
            "calls": 1,
            "failed": int(call["outcome"] != "ok"),
            "cost_usd": call["cost_usd"] or 0.0,
            "unpriced": int(call["cost_bound"] or (call["cost_usd"] is None and call["outcome"] == "ok")),
            **{name: call[name] for name in ("tokens_in", "tokens_cached", "tokens_out")},
        }
        for name in _SUMS:
            sums[name] += one[name]
    for (day, role, step, model), sums in days.items():
        await transaction.insert("llm_days", _ADD, day=day, role=role, step=step, model=model, **_as_stored(sums))
    return gone


_SUMS: Final = ("calls", "failed", "tokens_in", "tokens_cached", "tokens_out", "cost_usd", "unpriced")
_ADD: Final = "ON CONFLICT (day, role, step, model) DO UPDATE SET " + ", ".join(
    f"{name} = llm_days.{name} + excluded.{name}" for name in _SUMS
)


def _as_stored(sums: Mapping[str, float]) -> dict[str, float]:
    return {name: float(value) if name == "cost_usd" else int(value) for name, value in sums.items()}


async def prune_periodically(database: Database, kept: Retention, clock: Clock, emit: Emit, turn: DutyTurn) -> None:
    """Prune until cancelled, at each turn of this daemon: one of several has it every PRUNED_EVERY_S seconds."""
    while True:
        pause = PRUNED_EVERY_S
        try:
            async with turn() as wait:
                if wait:
                    pause = wait
                elif gone := await prune(database, clock, kept):
                    emit("memory.pruned", rows=gone)
        except StoreError as error:
            emit("store.failed", reason=error.message, hint=error.hint)
        await clock.sleep(pause)
