"""The costs of model calls, summed up as an admin asks."""

import datetime as dt
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from daemon.core.spending import Day
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.records import read_row

_DAY: Final = "CASE day WHEN '' THEN date(started_ms / 1000, 'unixepoch') ELSE day END"
BY: Final[Mapping[str, str]] = MappingProxyType(
    {"day": _DAY, "model": "model", "step": "step", "room": "room", "person": "person"}
)
"""SQL on `llm_calls` by which costs can be summed."""

_NAMELESS: Final = ("room", "person")  # days that are kept as sums alone know neither
_SUMS: Final = """
    sum(calls) AS calls, sum(failed) AS failed, sum(tokens_in) AS tokens_in, sum(tokens_cached) AS tokens_cached,
    sum(tokens_out) AS tokens_out, sum(cost_usd) AS cost_usd, sum(unpriced) AS unpriced
    """
_NAME_OF: Final = "SELECT name FROM user_models m WHERE m.person = {} AND name <> '' ORDER BY seen_ms DESC LIMIT 1"


class CostSum(Value):
    """The sum of some calls. `unpriced` of them count with their highest possible cost.

    `key` is a date, a model, a step, or the id of a room or person, empty if the call had none. `name` is that of a
    person, or of the person in a DM.
    """

    key: str
    name: str
    calls: int
    failed: int
    tokens_in: int
    tokens_cached: int
    tokens_out: int
    cost_usd: float
    unpriced: int


async def sums_of_costs(database: Database, by: str, since_ms: int) -> tuple[CostSum, ...]:
    """Return the costs of calls since a moment, the dearest first, or by day the newest first.

    `by` is a key of BY. Days that are kept as sums alone have no room and no person.
    """
    order = "key DESC" if by == "day" else "cost_usd DESC, key"
    older = f"""
        UNION ALL SELECT {by}, '', calls, failed, tokens_in, tokens_cached, tokens_out, cost_usd, unpriced
        FROM llm_days WHERE day >= date(:since / 1000, 'unixepoch')
        """  # noqa: S608 - a key of BY
    rows = await database.rows(
        f"""
        SELECT s.*, {_name(by)} AS name FROM (
          SELECT key, max(person) AS somebody, {_SUMS} FROM (
            SELECT {BY[by]} AS key, person, 1 AS calls, outcome <> 'ok' AS failed, tokens_in, tokens_cached, tokens_out,
                   coalesce(cost_usd, 0.0) AS cost_usd,
                   (cost_bound OR (cost_usd IS NULL AND outcome = 'ok')) AS unpriced
            FROM llm_calls WHERE started_ms >= :since {"" if by in _NAMELESS else older})
          GROUP BY key) s
        ORDER BY {order}
        """,  # noqa: S608 - constants of this module
        since=since_ms,
    )
    return tuple(read_row(CostSum, row) for row in rows)


def _name(by: str) -> str:
    if by == "person":
        return f"coalesce(({_NAME_OF.format('s.key')}), '')"
    if by == "room":
        return f"CASE WHEN s.key LIKE 'D%' THEN coalesce(({_NAME_OF.format('s.somebody')}), '') ELSE '' END"
    return "''"


DAY_MS = 86_400_000


class DayOfUse(Value):
    """A day of use. `wait_s` is the mean from a message to its sent answer, 0 without an answer."""

    day: str
    heard: int
    answered: int
    wait_s: float
    cost_usd: float


async def days_of_use(database: Database, days: Sequence[Day]) -> tuple[DayOfUse, ...]:
    """Return these days, in their order, for all souls of the file, by one short read each. Raises StoreError."""
    costs = {one.key: one.cost_usd for one in await sums_of_costs(database, "day", days[0].ends_ms - 2 * DAY_MS)}
    found = []
    for one in days:
        row = await database.one(
            """
            SELECT count(*) AS heard, coalesce(sum(i.state = 'answered'), 0) AS answered,
                   coalesce(avg(max(0, o.settled_ms - i.received_ms)), 0.0) / 1000 AS wait_s
            FROM inbox i LEFT JOIN outbox o ON o.id = i.answered_by AND o.state = 'sent'
            WHERE i.state IN ('new', 'claimed', 'answered', 'stale', 'dead') AND i.modality = 'words'
              AND i.received_ms >= :since AND i.received_ms < :until
            """,
            since=one.ends_ms - DAY_MS,
            until=one.ends_ms,
        )
        assert row is not None  # an aggregate always has a row
        found.append(DayOfUse(one.date, row["heard"], row["answered"], row["wait_s"], costs.get(one.date, 0.0)))
    return tuple(found)


async def sum_up_calls(transaction: Transaction, keys: Sequence[object]) -> int:
    """Add model calls to the sums of their days, and delete them."""
    days: dict[tuple[str, ...], dict[str, float]] = {}
    gone = 0
    for key in keys:
        if (call := await transaction.one("DELETE FROM llm_calls WHERE seq = :key RETURNING *", key=key)) is None:
            continue  # another daemon was first
        gone += 1
        day = dt.datetime.fromtimestamp(call["started_ms"] / 1000, dt.UTC).date().isoformat()
        sums = days.setdefault((day, call["role"], call["step"], call["model"]), dict.fromkeys(_OF_DAY, 0))
        one = {
            "calls": 1,
            "failed": int(call["outcome"] != "ok"),
            "cost_usd": call["cost_usd"] or 0.0,
            "unpriced": int(call["cost_bound"] or (call["cost_usd"] is None and call["outcome"] == "ok")),
            **{name: call[name] for name in ("tokens_in", "tokens_cached", "tokens_out")},
        }
        for name in _OF_DAY:
            sums[name] += one[name]
    for (day, role, step, model), sums in days.items():
        await transaction.insert("llm_days", _ADDED, day=day, role=role, step=step, model=model, **_stored_sums(sums))
    return gone


_OF_DAY: Final = ("calls", "failed", "tokens_in", "tokens_cached", "tokens_out", "cost_usd", "unpriced")
_ADDED: Final = "ON CONFLICT (day, role, step, model) DO UPDATE SET " + ", ".join(
    f"{name} = llm_days.{name} + excluded.{name}" for name in _OF_DAY
)


def _stored_sums(sums: Mapping[str, float]) -> dict[str, float]:
    return {name: float(value) if name == "cost_usd" else int(value) for name, value in sums.items()}
