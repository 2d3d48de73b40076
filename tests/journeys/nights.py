"""For journeys through nights: the clock is turned to the next slot, and what was done is read."""

from datetime import UTC, datetime

from daemon.memory.database.sqlite import sqlite3
from tests.journeys.house import House

AT_THREE = "0 3 * * *"
_HOUR = 3_600
_DAY = 24 * _HOUR


async def night(house: House) -> None:
    """Turn the clock to a minute past three in the night, and wait until the slot is done."""
    before = len(house.events.named("consolidation.done"))
    to_the_minute_before_three(house)
    house.clock.turn(120)
    await house.events.until("consolidation.done", before + 1)
    await house.idle()


def to_the_minute_before_three(house: House) -> None:
    """Turn the clock to 2:59 in the night, an hour or more after what was said: nobody may have spoken of late."""
    now = datetime.fromtimestamp(house.clock.now_ms() / 1000, UTC)
    seconds = (now - now.replace(hour=3, minute=0, second=0, microsecond=0)).total_seconds()
    house.clock.turn((-60 - seconds - _HOUR) % _DAY + _HOUR)


async def runs(house: House) -> list[sqlite3.Row]:
    """The rows of runs, oldest first."""
    return await house.rows("SELECT * FROM consolidations ORDER BY began_ms, id")


async def standing(house: House) -> list[str]:
    """The lines of the facts that hold, oldest first."""
    rows = await house.rows(
        "SELECT r.text FROM records r JOIN facts f ON f.id = r.id WHERE f.valid_until_ms IS NULL ORDER BY r.seq"
    )
    return [row["text"] for row in rows]
