"""For journeys of souls that think by themselves: words before, time, and what was counted of such thoughts."""

from typing import Any, Final

from tests.journeys.house import House
from tests.journeys.souls import write_soul
from tests.journeys.thinking import thought

DAY: Final = 86_400
ALONE: Final[dict[str, Any]] = {
    "name": "tess",
    "visit_silence": 60 * DAY,
    "dormant_after": 90 * DAY,
    "cycle_enabled": True,
    "cycle_tokens_hour": 1_000_000,
    "cycle_tokens_day": 10_000_000,
}
"""Settings under which no silence is so long that the soul itself thinks of it, and no budget is met."""
NEVER_QUIET: Final[dict[str, Any]] = {**ALONE, "quiet_hours": ""}
"""The same, with no hour in which nothing is said unasked."""
COUNTS = "SELECT reason, sum(n) AS n FROM tick_counts GROUP BY reason"


async def musing(house: House, more: str = "", **changes: object) -> None:
    """Start a daemon whose soul thinks whole thoughts, also by itself."""
    write_soul(house.settings.home, more=f'mind = "cycle"\nsubprocesses = []\n{more}')
    await house.start(**NEVER_QUIET | changes)


async def spoken_to(house: House, words: str, **parts: object) -> None:
    """Say something that the soul answers by a thought with these parts."""
    house.model.replies.append(thought("I see.", **parts))
    await house.answered("Ada", "dm", words)


async def counted(house: House) -> dict[str, int]:
    """How many ticks were thought (''), and how many were not, by the reason."""
    return {row["reason"]: row["n"] for row in await house.rows(COUNTS)}


async def after(house: House, seconds: float, ticks: int) -> None:
    """Let time pass until so many ticks were counted in all."""
    house.clock.turn(seconds)

    async def enough() -> bool:
        return sum((await counted(house)).values()) >= ticks

    await house.when(enough)
