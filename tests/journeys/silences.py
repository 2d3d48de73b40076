"""For journeys through silences: how long they last, and what falls due in them."""

from tests.journeys.house import House

MINUTE, HOUR = 60.0, 3600.0
DORMANT, END = 31 * MINUTE, 4 * HOUR


async def fallen(house: House, count: int) -> None:
    """Wait until so many intentions have fallen due and are handled."""

    async def done() -> bool:
        rows = await house.rows("SELECT state FROM inbox WHERE modality = 'time'")
        return len(rows) >= count and all(row["state"] not in ("new", "claimed") for row in rows)

    await house.when(done)
    await house.idle()
