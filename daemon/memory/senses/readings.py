"""Readings: what reached a soul apart from words, and waits in a conversation for the next thought."""

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from daemon.core.authority import Function, Level
from daemon.core.expectations import Noticed
from daemon.core.perception import ConversationKey
from daemon.core.sensing import HouseSense, ProgramSense
from daemon.core.tempo import pause_of_reading
from daemon.core.timetable import minute_in
from daemon.core.value import Value
from daemon.core.words import keys_of_words, shares_words, words_heard
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.expectations.settling import settle_reading
from daemon.memory.goals_in_force import IN_FORCE
from daemon.memory.records import conversation_columns

_GOALS_LOOKED_AT: Final = 50  # open goals of a conversation, those that were touched last
_THOUGHTS_LOOKED_AT: Final = 8  # about the same reading; by then the pause is as long as it gets


class Concern(Value):
    """An open goal, or '' for the focus of the last thought. `changed_ms` is its last change."""

    goal: str = ""
    changed_ms: int = 0


async def concern_of(
    transaction: Transaction, where: ConversationKey, words: str, named: str, now: int
) -> Concern | None:
    """Return what a reading with these words tells of in a conversation, or None.

    That is the goal `named`, else the newest goal that shares words with it, else the soul's focus.
    """
    heard = words_heard(words)
    keys = keys_of_words(heard)
    goals = await transaction.rows(
        f"""
        SELECT id, goal, touched_ms FROM goals WHERE conversation = :conversation AND {IN_FORCE}
        ORDER BY touched_ms DESC LIMIT :most
        """,  # noqa: S608 - a constant
        conversation=str(where),
        now=now,
        most=_GOALS_LOOKED_AT,
    )
    for row in goals:
        if row["id"] == named if named else shares_words(row["goal"], heard, keys):
            return Concern(row["id"], row["touched_ms"])
    focus = await _focus(transaction, where)
    return Concern() if any(shares_words(one, heard, keys) for one in focus) else None


async def wakes_ms(
    transaction: Transaction, where: ConversationKey, digest: str, of: Concern | None, now: int
) -> int | None:
    """Return when a reading wakes a thought (ms, UTC), or None for never.

    It wakes at once, or after a pause if it was thought about before and neither a person nor the goal changed anything
    since.
    """
    if of is None:
        return None
    said = await transaction.one(
        "SELECT said_ms FROM turns WHERE conversation = :id AND speaker = 'person' ORDER BY seq DESC LIMIT 1",
        id=str(where),
    )
    before = await transaction.rows(
        """
        SELECT perceived_ms, said FROM readings WHERE conversation = :id AND digest = :digest AND state = 'perceived'
          AND perceived_ms > :changed ORDER BY seq DESC LIMIT :most
        """,
        id=str(where),
        digest=digest,
        changed=max(of.changed_ms, 0 if said is None else said["said_ms"] or 0),
        most=_THOUGHTS_LOOKED_AT,
    )
    if not before:
        return now
    pause = pause_of_reading([row["said"] for row in before])
    return None if pause is None else max(now, int(before[0]["perceived_ms"]) + pause)


async def _focus(transaction: Transaction, where: ConversationKey) -> Sequence[str]:
    row = await transaction.one(
        "SELECT output, refused FROM thoughts WHERE conversation = :id ORDER BY seq DESC LIMIT 1", id=str(where)
    )
    if row is None or '["attention", ' in row["refused"]:
        return ()
    with suppress(ValueError, RecursionError, KeyError, TypeError):  # emptied, or of another day's form
        return [str(one) for one in json.loads(row["output"])["attention"]["focus_on"]]
    return ()


MOST_WAITING: Final = 100
"""The most readings that wait in one conversation. Beyond it the oldest go."""


class NewReading(Value):
    """A reading of a sense such as `ci` or `daemon`. Its words are data.

    `concerns` is the goal of which it tells, such as `G1`, or '' if its words decide that.
    """

    sense: HouseSense | ProgramSense
    words: str
    concerns: str = ""


async def keep_reading(transaction: Transaction, where: ConversationKey, reading: NewReading, now: int) -> None:
    """Store a reading that waits in a conversation. An equal one that waits is counted and is new again.

    Expectations of it are scored. It wakes a thought if it shares words with an open goal or with the focus of the last
    thought. The same reading again, while nothing changed, wakes a thought only after a growing pause.
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
    """Let a reading wait again that came `n` more times while a thought perceived it."""
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
    """Count a waiting reading once less, and delete it at zero."""
    which = {"conversation": where, "digest": _digest(reading)}
    equal = "conversation = :conversation AND state = 'waiting' AND digest = :digest"
    await transaction.run(f"DELETE FROM readings WHERE {equal} AND n = 1", **which)  # noqa: S608 - a literal
    await transaction.run(f"UPDATE readings SET n = n - 1 WHERE {equal} AND n > 1", **which)  # noqa: S608 - a literal


def _digest(reading: NewReading) -> str:
    return hashlib.sha256(f"{reading.sense}\0{reading.words}".encode("utf-8", "surrogatepass")).hexdigest()


DROPPED: Final = "given up by the person it was made for"
"""The words for a goal that its person has given up."""

_FOUND: Final = {"good": "good", "bad": "no good"}


async def tell_of_feedback(transaction: Transaction, where: str, value: str, ts: str, now: int) -> None:
    """Tell the soul that a person rated the reply posted at `ts` good or bad."""
    await _tell(transaction, where, _of_feedback(value, ts), now)


async def tell_no_more_of_feedback(transaction: Transaction, where: str, value: str, ts: str) -> None:
    """Take back a rating that the soul has not perceived yet."""
    await take_reading_back(transaction, where, _of_feedback(value, ts))


async def tell_of_change(transaction: Transaction, where: str, ts: str, now: int, *, deleted: bool = False) -> None:
    """Tell the soul that a message which it answered was edited or deleted."""
    what = "was deleted" if deleted else "says something else now"
    reading = NewReading(
        HouseSense.DELETION if deleted else HouseSense.EDIT, f"a message{_of(ts)} that you had answered {what}"
    )
    await _tell(transaction, where, reading, now)


async def tell_of_goal(transaction: Transaction, where: str, name: str, how: str, now: int) -> None:
    """Tell the soul that another user closed a goal: `how`, such as "given up by an admin", without a name."""
    await _tell(transaction, where, NewReading(HouseSense.GOAL, f"your goal {name} was {how}"), now)


async def tell_of_fall(transaction: Transaction, where: str, function: Function, level: Level, now: int) -> None:
    """Tell the soul that a function of its mind fell to a level, since too many of its parts were refused."""
    words = f"too many parts were refused: {function} is on level {level} now, {level.name.lower()}"
    await _tell(transaction, where, NewReading(HouseSense.AUTHORITY, words), now)


async def tell_of_level(transaction: Transaction, soul: str, function: Function, level: Level, now: int) -> None:
    """Tell the soul, where it thought last, that an admin gave a function a level."""
    row = await transaction.one(
        "SELECT conversation FROM thoughts WHERE soul = :soul ORDER BY seq DESC LIMIT 1", soul=soul
    )
    if row is not None:
        words = f"an admin decided: {function} is on level {level} now, {level.name.lower()}"
        await _tell(transaction, row["conversation"], NewReading(HouseSense.AUTHORITY, words), now)


async def _tell(transaction: Transaction, where: str, reading: NewReading, now: int) -> None:
    if await transaction.one("SELECT 1 FROM thoughts WHERE conversation = :id LIMIT 1", id=where) is not None:
        await keep_reading(transaction, ConversationKey.parse(where), reading, now)


def _of_feedback(value: str, ts: str) -> NewReading:
    return NewReading(HouseSense.FEEDBACK, f"a person found your reply{_of(ts)} {_FOUND.get(value, value)}")


def _of(ts: str) -> str:
    try:
        return f" of {minute_in(int(float(ts) * 1000), '')} UTC"
    except (ValueError, OverflowError, OSError):
        return ""


class Reading(Value):
    """A reading that no thought has perceived. `n` counts it, and `at_ms` is the last time."""

    seq: int
    sense: str
    words: str
    n: int
    at_ms: int


class Sensed(Value):
    """The readings that wait in a conversation, newest first, and how many went since the last thought there."""

    readings: tuple[Reading, ...] = ()
    dropped: int = 0


NOTHING_SENSED: Final = Sensed()


async def sensed_in(transaction: Transaction, conversation: ConversationKey) -> Sensed:
    """Return what waits to be perceived in a conversation."""
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
