"""Readings: what reached a soul beside words, each in the conversation where it waits for the next thought."""

import hashlib
from dataclasses import dataclass
from typing import Final

from daemon.core.expectations import Noticed
from daemon.core.house_senses import HouseSense, ProgramSense
from daemon.core.perception import ConversationKey
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.expectations.settling import settle_reading
from daemon.memory.records import conversation_columns
from daemon.memory.senses.concerns import concern_of, wakes_ms

MOST_WAITING: Final = 100
"""Readings that wait in one conversation; beyond it the oldest go."""


@dataclass(frozen=True, slots=True)
class NewReading:
    """What a sense tells: its name, such as `ci` or `daemon`, and its words, which are data.

    `concerns` is the goal of which it tells, such as `G1`; '' where its words are to say so.
    """

    sense: HouseSense | ProgramSense
    words: str
    concerns: str = ""


async def keep_reading(transaction: Transaction, where: ConversationKey, reading: NewReading, now: int) -> None:
    """Have a reading wait in a conversation; an equal one that waits is counted and is new again.

    What was expected of it there is scored. It wakes a thought if it shares words with an open goal or with what the
    last thought there said to look out for; the same again, while nothing changed, only after a growing pause.
    """
    digest = _digest(reading)
    await settle_reading(transaction, where, Noticed(now, reading.words, sense=reading.sense), now)
    concern = await concern_of(transaction, where, reading.words, reading.concerns, now)
    wakes = await wakes_ms(transaction, where, digest, concern, now)
    equal = await transaction.one(
        """
        UPDATE readings SET n = n + 1, at_ms = :now, wakes_ms = coalesce(wakes_ms, :wakes)
        WHERE conversation = :conversation AND state = 'waiting' AND digest = :digest RETURNING seq
        """,
        conversation=str(where),
        digest=digest,
        now=now,
        wakes=wakes,
    )
    if equal is None:
        await transaction.insert(
            "readings",
            **conversation_columns(where),
            sense=reading.sense,
            digest=digest,
            words=reading.words,
            concerns=concern.goal if concern is not None else "",
            at_ms=now,
            state="waiting",
            wakes_ms=wakes,
        )
    await transaction.run(
        """
        UPDATE readings SET state = 'dropped', words = '', wakes_ms = NULL WHERE seq IN
          (SELECT seq FROM readings WHERE conversation = :conversation AND state = 'waiting'
           ORDER BY at_ms DESC, seq DESC LIMIT -1 OFFSET :most)
        """,
        conversation=str(where),
        most=MOST_WAITING,
    )


async def wait_on(transaction: Transaction, row: sqlite3.Row, n: int, now: int) -> None:
    """Have the reading of a row wait that came `n` times more while a thought perceived it."""
    where = ConversationKey.parse(row["conversation"])
    concern = await concern_of(transaction, where, row["words"], row["concerns"], now)
    await transaction.insert(
        "readings",
        **conversation_columns(where),
        **{name: row[name] for name in ("sense", "digest", "words", "concerns", "at_ms")},
        n=n,
        state="waiting",
        wakes_ms=await wakes_ms(transaction, where, row["digest"], concern, now),
    )


async def take_reading_back(transaction: Transaction, where: str, reading: NewReading) -> None:
    """Count a reading once less that waits in a conversation; without any it waits no more."""
    which = {"conversation": where, "digest": _digest(reading)}
    equal = "conversation = :conversation AND state = 'waiting' AND digest = :digest"
    await transaction.run(f"DELETE FROM readings WHERE {equal} AND n = 1", **which)  # noqa: S608 - a literal
    await transaction.run(f"UPDATE readings SET n = n - 1 WHERE {equal} AND n > 1", **which)  # noqa: S608 - a literal


def _digest(reading: NewReading) -> str:
    return hashlib.sha256(f"{reading.sense}\0{reading.words}".encode("utf-8", "surrogatepass")).hexdigest()
