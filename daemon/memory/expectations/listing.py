"""What souls expected, as an admin sees it: each, and how well they foresee."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from daemon.core.calibration import Forecast, Sums, bins_of
from daemon.memory.database import Database, Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.records import JSONObject, object_or_nothing

STATES: Final = ("open", "hit", "miss", "unresolved", "withdrawn")


@dataclass(frozen=True, slots=True)
class ListedPrediction:
    """One expectation; its words are empty where they are gone. `due_ms` is None where it waits for exchanges."""

    id: str
    soul: str
    conversation: str
    audience: str
    what: str
    confidence: float
    timeframe: str
    check: JSONObject
    made_ms: int
    due_ms: int | None
    state: str
    scored_by: str | None
    surprise: float | None
    scored_ms: int | None
    thought: str

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "ListedPrediction":
        """Read a `predictions` row."""
        return cls(
            **{name: row[name] for name in _PLAIN},
            check=object_or_nothing(row["awaited"]),
            due_ms=row["due_ms"] if row["exchanges"] is None else None,
            scored_by=row["scored_by"] or None,
        )


_PLAIN: Final = (
    *("id", "soul", "conversation", "audience", "what", "confidence", "timeframe", "made_ms", "state", "surprise"),
    *("scored_ms", "thought"),
)


async def list_predictions(
    database: Database, soul: str, conversation: str, state: str, limit: int
) -> tuple[ListedPrediction, ...]:
    """The newest expectations of a soul, oldest first; `state` and `conversation` leave others out where given.

    Raises StoreError.
    """
    rows = await database.rows(
        f"""
        SELECT * FROM predictions WHERE soul = :soul {"AND +conversation = :conversation" if conversation else ""}
          {"AND +state = :state" if state else ""} ORDER BY seq DESC LIMIT :most
        """,  # noqa: S608 - literals
        soul=soul,
        most=limit,
        **({"conversation": conversation} if conversation else {}),
        **({"state": state} if state else {}),
    )
    return tuple(map(ListedPrediction.from_row, reversed(rows)))


async def calibration(database: Database, soul: str, since_ms: int) -> Mapping[str, object]:
    """How well a soul foresaw what was scored since a moment, as JSON values. Raises StoreError."""

    async def unit(transaction: Transaction) -> Mapping[str, object]:
        rows = await transaction.rows(
            """
            SELECT confidence, state, kind FROM predictions
            WHERE soul = :soul AND state IN ('hit', 'miss') AND scored_ms >= :since
            """,
            soul=soul,
            since=since_ms,
        )
        found = [Forecast(row["confidence"], row["state"] == "hit", row["kind"]) for row in rows]
        kinds = sorted({one.kind for one in found})
        return {
            **Sums.of(found).figures,
            "bins": bins_of(found),
            "by_check": {kind: Sums.of(one for one in found if one.kind == kind).figures for kind in kinds},
            "unresolved": await _count(transaction, soul, "state = 'unresolved' AND scored_ms >= :since", since_ms),
            "open": await _count(transaction, soul, "state = 'open' AND made_ms >= :since", 0),
        }

    return await database.read(unit)


async def _count(transaction: Transaction, soul: str, which: str, since_ms: int) -> int:
    row = await transaction.one(
        f"SELECT count(*) AS n FROM predictions WHERE soul = :soul AND {which}",  # noqa: S608 - literals
        soul=soul,
        since=since_ms,
    )
    return int(row["n"]) if row else 0
