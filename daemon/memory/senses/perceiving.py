"""What waits in a conversation is one thought's percepts."""

from dataclasses import dataclass
from typing import Final

from daemon.core.perception import ConversationKey
from daemon.memory.database import Transaction


@dataclass(frozen=True, slots=True)
class Reading:
    """What reached a sense and no thought has perceived: how often (`n`), last at `at_ms`."""

    seq: int
    sense: str
    words: str
    n: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Sensed:
    """The readings that wait in a conversation, newest first, and how many went since the last thought there."""

    readings: tuple[Reading, ...] = ()
    dropped: int = 0


NOTHING_SENSED: Final = Sensed()


async def sensed_in(transaction: Transaction, conversation: ConversationKey) -> Sensed:
    """What waits to be perceived in a conversation."""
    rows = await transaction.rows(
        """
        SELECT seq, sense, words, n, at_ms FROM readings WHERE conversation = :id AND state = 'waiting'
        ORDER BY at_ms DESC, seq DESC
        """,
        id=str(conversation),
    )
    gone = await transaction.one(
        "SELECT count(*) AS n FROM readings WHERE conversation = :id AND state = 'dropped' AND perceived_by = ''",
        id=str(conversation),
    )
    assert gone is not None  # a count
    found = tuple(Reading(row["seq"], row["sense"], row["words"], row["n"], row["at_ms"]) for row in rows)
    return Sensed(found, gone["n"])
