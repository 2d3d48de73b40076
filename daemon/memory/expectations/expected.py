"""The expectations that a soul's readers may know of, their outcomes, and the calibration of its forecasts."""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from daemon.core.expectations import NOTHING_SCORED, Came, Forecast, Outcome, Sums, bins_of
from daemon.core.perception import ConversationKey, Readers
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.expectations.settling import OpenPrediction, scores
from daemon.memory.records import Row, object_or_nothing
from daemon.memory.thought_parts import came_before

_ELSEWHERE: Final = 10  # newest open ones of an audience
_ERRORS: Final = 10
_LOOKED_AT: Final = 100  # outcomes that no thought was given


class ScoredPrediction(Value):
    """An expectation that has come true or not, which no thought was given before."""

    id: str
    what: str
    confidence: float
    outcome: Outcome
    surprise: float
    thought: str


class Expected(Value):
    """The `open` expectations for the readers, the `errors` here (greatest surprise first), and wordless `sums`."""

    open: tuple[OpenPrediction, ...] = ()
    errors: tuple[ScoredPrediction, ...] = ()
    sums: Sums = NOTHING_SCORED

    @property
    def thoughts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*(one.thought for one in self.open), *(one.thought for one in self.errors))))

    @property
    def surprise(self) -> float | None:
        return self.errors[0].surprise if self.errors else None

    def after(self, conversation: ConversationKey, came: Came) -> "Expected":
        """Return the expectations after scoring what came in this conversation, as its commit will."""
        found = scores((one for one in self.open if one.conversation == str(conversation)), came)
        fresh = [
            ScoredPrediction(made.id, made.what, made.confidence, one.outcome, surprise, made.thought)
            for one in found
            for made, surprise in ((one.prediction, one.surprise),)
            if surprise is not None
        ]
        ended = {one.prediction.id for one in found}
        errors = tuple(sorted((*self.errors, *fresh), key=lambda one: -one.surprise))
        return replace(self, open=tuple(one for one in self.open if one.id not in ended), errors=errors)


NOTHING_EXPECTED: Final = Expected()


async def expected_at_hand(transaction: Transaction, conversation: ConversationKey, readers: Readers) -> Expected:
    """Return the expectations of this conversation, and of others that the same audience or the workspace may know of.

    Before readers who aren't all members only this conversation counts.
    """
    rows = await transaction.rows(
        "SELECT * FROM predictions WHERE conversation = :id AND state = 'open' ORDER BY seq", id=str(conversation)
    )
    if readers.members_only:
        for audience in dict.fromkeys((f"workspace:{conversation.workspace}", str(readers.audience))):
            rows += await transaction.rows(
                """
                SELECT * FROM predictions WHERE soul = :soul AND workspace = :workspace AND audience = :audience
                  AND state = 'open' AND conversation <> :id ORDER BY seq DESC LIMIT :most
                """,
                soul=conversation.soul,
                workspace=conversation.workspace,
                audience=audience,
                id=str(conversation),
                most=_ELSEWHERE,
            )
    fresh = await transaction.rows(
        """
        SELECT * FROM predictions WHERE conversation = :id AND shown = 0 AND state IN ('hit', 'miss') AND what <> ''
        ORDER BY surprise DESC, seq LIMIT :most
        """,
        id=str(conversation),
        most=_LOOKED_AT,  # those that came before other readers are never shown, and hide none
    )
    errors = [_scored(row) for row in fresh if came_before(row, conversation, readers)]
    return Expected(
        tuple(OpenPrediction.from_row(row) for row in rows if came_before(row, conversation, readers)),
        tuple(errors[:_ERRORS]),
        await sums_of(transaction, conversation.soul),
    )


async def sums_of(transaction: Transaction, soul: str) -> Sums:
    """Return the figures of all expectations of a soul."""
    row = await transaction.one("SELECT * FROM prediction_sums WHERE soul = :soul", soul=soul)
    return Sums(row["scored"], row["hits"], row["confidence"], row["squared"]) if row else NOTHING_SCORED


def _scored(row: sqlite3.Row) -> ScoredPrediction:
    outcome = Outcome(row["state"])
    return ScoredPrediction(row["id"], row["what"], row["confidence"], outcome, row["surprise"], row["thought"])


STATES: Final = ("open", "hit", "miss", "unresolved", "withdrawn")


async def list_predictions(database: Database, soul: str, conversation: str, state: str, limit: int) -> list[Row]:
    """Return the newest expectations, oldest first, of a state or a conversation. Raises StoreError.

    The words of one are empty if they are gone. `due_ms` is None if it waits for exchanges.
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
    return [
        {
            **dict(row),
            "check": object_or_nothing(row["awaited"]),
            "due_ms": row["due_ms"] if row["exchanges"] is None else None,
            "scored_by": row["scored_by"] or None,
        }
        for row in reversed(rows)
    ]


async def calibration(database: Database, soul: str, since_ms: int) -> Mapping[str, object]:
    """Return how well a soul foresaw what was scored since a moment, as JSON values. Raises StoreError."""

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
