"""What a soul perceives of what became of its words and acts (seed 002, *Sensorium*), without a word of anybody.

Such readings wait in the conversations in which the soul has thought; elsewhere, and so before one that answers in
words alone, none is kept.
"""

from typing import Final

from daemon.core.authority import Function, Level
from daemon.core.house_senses import HouseSense
from daemon.core.perception import ConversationKey
from daemon.core.timetable import minute_in
from daemon.memory.database import Transaction
from daemon.memory.senses.readings import NewReading, keep_reading, take_reading_back

DROPPED: Final = "given up by the person it was made for"
"""How a goal was closed that its person has given up."""

_FOUND: Final = {"good": "good", "bad": "no good"}


async def tell_of_feedback(transaction: Transaction, where: str, value: str, ts: str, now: int) -> None:
    """That a person found a reply good or bad, which was posted at `ts`."""
    await _tell(transaction, where, _of_feedback(value, ts), now)


async def tell_no_more_of_feedback(transaction: Transaction, where: str, value: str, ts: str) -> None:
    """That they took it back before the soul perceived it."""
    await take_reading_back(transaction, where, _of_feedback(value, ts))


async def tell_of_change(transaction: Transaction, where: str, ts: str, now: int, *, deleted: bool = False) -> None:
    """That a message which the soul has answered was edited or deleted."""
    what = "was deleted" if deleted else "says something else now"
    reading = NewReading(
        HouseSense.DELETION if deleted else HouseSense.EDIT, f"a message{_of(ts)} that you had answered {what}"
    )
    await _tell(transaction, where, reading, now)


async def tell_of_goal(transaction: Transaction, where: str, name: str, how: str, now: int) -> None:
    """That somebody else closed a goal: `how`, such as "given up by an admin", without a name."""
    await _tell(transaction, where, NewReading(HouseSense.GOAL, f"your goal {name} was {how}"), now)


async def tell_of_fall(transaction: Transaction, where: str, function: Function, level: Level, now: int) -> None:
    """That a function of the soul's mind fell to a level, since too many of its parts were refused there."""
    words = f"too many parts were refused: {function} is on level {level} now, {level.name.lower()}"
    await _tell(transaction, where, NewReading(HouseSense.AUTHORITY, words), now)


async def tell_of_level(transaction: Transaction, soul: str, function: Function, level: Level, now: int) -> None:
    """That an admin gave a function a level; the soul perceives it where it thought last."""
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
    """When a message was posted, by the platform's ts; empty where that says no time."""
    try:
        return f" of {minute_in(int(float(ts) * 1000), '')} UTC"
    except (ValueError, OverflowError, OSError):
        return ""
