"""What a soul expects before some readers, what came of it since its last thought there, and how well it foresees."""

from dataclasses import dataclass, replace
from typing import Final

from daemon.core.calibration import NOTHING_SCORED, Sums
from daemon.core.expectations import Came, Outcome
from daemon.core.perception import ConversationKey, Readers
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.expectations.predictions import OpenPrediction
from daemon.memory.expectations.settling import scores
from daemon.memory.thought_readability import came_before

_ELSEWHERE: Final = 10  # newest open ones of an audience
_ERRORS: Final = 10
_LOOKED_AT: Final = 100  # outcomes that no thought was given


@dataclass(frozen=True, slots=True)
class ScoredPrediction:
    """An expectation that has come true or not, which no thought was given before."""

    id: str
    what: str
    confidence: float
    outcome: Outcome
    surprise: float
    thought: str


@dataclass(frozen=True, slots=True)
class Expected:
    """The `open` expectations that the readers may know of, and the `errors` of this conversation.

    The greatest surprise stands first. `sums` are the figures of all that the soul ever expected, which hold no
    words.
    """

    open: tuple[OpenPrediction, ...] = ()
    errors: tuple[ScoredPrediction, ...] = ()
    sums: Sums = NOTHING_SCORED

    @property
    def thoughts(self) -> tuple[str, ...]:
        """The ids of the thoughts that expected it."""
        return tuple(dict.fromkeys((*(one.thought for one in self.open), *(one.thought for one in self.errors))))

    @property
    def surprise(self) -> float | None:
        """The greatest surprise; None where nothing was decided."""
        return self.errors[0].surprise if self.errors else None

    def after(self, conversation: ConversationKey, came: Came) -> "Expected":
        """The same once what came in this conversation is scored, as its commit will."""
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
    """What is expected in this conversation, and where the same audience or the whole workspace may know of it.

    Before readers who aren't all members it is what was expected in this conversation alone.
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
    """The figures of all that a soul ever expected."""
    row = await transaction.one("SELECT * FROM prediction_sums WHERE soul = :soul", soul=soul)
    return Sums(row["scored"], row["hits"], row["confidence"], row["squared"]) if row else NOTHING_SCORED


def _scored(row: sqlite3.Row) -> ScoredPrediction:
    outcome = Outcome(row["state"])
    return ScoredPrediction(row["id"], row["what"], row["confidence"], outcome, row["surprise"], row["thought"])
