"""Readings: what reached a soul beside words, each in the conversation where it waits for the next thought."""

import hashlib
from dataclasses import dataclass
from typing import Final

from daemon.core.perception import ConversationKey
from daemon.memory.database import Transaction
from daemon.memory.records import conversation_columns

MOST_WAITING: Final = 100
"""Readings that wait in one conversation; beyond it the oldest go."""


@dataclass(frozen=True, slots=True)
class NewReading:
    """What a sense tells: its name, such as `ci` or `daemon`, and its words, which are data.

    `concerns` is the goal of which it tells, such as `G1`; '' for none.
    """

    sense: str
    words: str
    concerns: str = ""


async def keep_reading(transaction: Transaction, where: ConversationKey, reading: NewReading, now: int) -> None:
    """Have a reading wait in a conversation; one takes the place of an equal one that waits, and is counted."""
    digest = _digest(reading)
    equal = await transaction.one(
        """
        DELETE FROM readings WHERE conversation = :conversation AND state = 'waiting' AND digest = :digest
        RETURNING n
        """,
        conversation=str(where),
        digest=digest,
    )
    await transaction.insert(
        "readings",
        **conversation_columns(where),
        sense=reading.sense,
        digest=digest,
        words=reading.words,
        concerns=reading.concerns,
        n=1 if equal is None else int(equal["n"]) + 1,
        at_ms=now,
        state="waiting",
    )
    await transaction.run(
        """
        UPDATE readings SET state = 'dropped', words = '' WHERE conversation = :conversation AND state = 'waiting'
          AND seq <= (SELECT seq FROM readings WHERE conversation = :conversation AND state = 'waiting'
                      ORDER BY seq DESC LIMIT 1 OFFSET :most)
        """,
        conversation=str(where),
        most=MOST_WAITING,
    )


async def take_reading_back(transaction: Transaction, where: str, reading: NewReading) -> None:
    """Count a reading once less that waits in a conversation; without any it waits no more."""
    which = {"conversation": where, "digest": _digest(reading)}
    equal = "conversation = :conversation AND state = 'waiting' AND digest = :digest"
    await transaction.run(f"DELETE FROM readings WHERE {equal} AND n = 1", **which)  # noqa: S608 - a literal
    await transaction.run(f"UPDATE readings SET n = n - 1 WHERE {equal} AND n > 1", **which)  # noqa: S608 - a literal


def _digest(reading: NewReading) -> str:
    return hashlib.sha256(f"{reading.sense}\0{reading.words}".encode("utf-8", "surrogatepass")).hexdigest()
