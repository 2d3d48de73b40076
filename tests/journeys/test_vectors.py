"""What is said in Slack gets its vectors beside memory.db, and loses them when it is deleted there."""

import json
from typing import Any

import pytest

from tests.journeys.house import House


async def _followed(house: House, have: int) -> dict[str, Any]:
    """The statistics, once as many memories as are there have their vectors."""
    while True:
        seen = len(house.events.named("vectors.followed"))
        stats: dict[str, Any] = json.loads(await house.command("memory", "stats", "--json"))
        if stats["vectors"] == {"wanted": have, "have": have, "queued": 0}:
            return stats
        await house.events.until("vectors.followed", times=seen + 1)


@pytest.mark.slow
async def test_in_a_house_that_is_days_old_other_words_find_it_too_and_thanks_find_nothing(empty_house: House) -> None:
    await empty_house.start(embedder="local")
    said = (
        "Our plumber repairs the radiators on Friday.",
        "We had pasta for lunch.",
        "The printer is out of paper.",
        "My sister plays the violin.",
        "Parking is full today.",
        "The invoice went out this morning.",
    )
    for words in said:
        await empty_house.say("Ada", "general", f"@soul {words}")
        await empty_house.reply("general", words)
    await empty_house.idle()
    await _followed(empty_house, have=2 * len(said))
    await empty_house.answered("Ben", "dm", "Who fixes the heating?")
    assert "plumber repairs the radiators" in empty_house.last_prompt()
    await empty_house.answered("Ben", "dm", "Thanks a lot!")
    assert "surfaced from memory" not in empty_house.last_prompt()
