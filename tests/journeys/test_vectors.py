"""What is said in Slack gets its vectors beside memory.db, and loses them when it is deleted there."""

import json
from typing import Any

import pytest

from daemon.core.perception import ConversationKey
from daemon.core.ports.vectors import NearQuery, View
from daemon.llm.embedder import MODEL
from daemon.llm.embedder.local import LocalEmbedder
from daemon.memory.reader_codes import codes_of_turn
from daemon.memory.retrieval.vectors import Vectors
from tests.fakes import Events
from tests.journeys.house import House


async def _followed(house: House, have: int) -> dict[str, Any]:
    """The statistics, once as many memories as are there have their vectors."""
    assert house.daemon is not None
    while True:
        seen = len(house.daemon.events.named("vectors.followed"))
        stats: dict[str, Any] = json.loads(await house.command("memory", "stats", "--json"))
        if stats["vectors"] == {"wanted": have, "have": have, "queued": 0}:
            return stats
        await house.daemon.events.until("vectors.followed", times=seen + 1)


@pytest.mark.slow
async def test_what_is_said_in_a_dm_is_found_by_what_it_means_until_it_is_deleted(empty_house: House) -> None:
    house = empty_house
    await house.start(embedder="local")
    ts = await house.say("Ada", "dm", "Our plumber repairs the radiators on Friday.")
    await house.reply("D0ADA")
    await house.say("Ada", "dm", "We had pasta for lunch.")
    await house.reply("D0ADA", "We had pasta for lunch.")
    await house.idle()
    stats = await _followed(house, have=4)
    assert (stats["index"]["kind"], stats["index"]["owner"] is None) == ("exact", False)
    embedder = LocalEmbedder(MODEL)
    index = Vectors(house.settings.index_folder, embedder.id, Events())  # as another process asks
    row = await house.one("SELECT conversation, audience FROM turns LIMIT 1")
    codes = codes_of_turn(ConversationKey.parse(row["conversation"]), row["audience"])
    (asked,) = await embedder.embed(["Who fixes the heating?"])
    [near] = await index.near(codes, [NearQuery(View.OWN, asked)], 9)
    assert near.cosines["TU_1"] > near.cosines["TU_3"]
    await house.people.delete("Ada", "D0ADA", ts)
    await _followed(house, have=3)
    [near] = await index.near(codes, [NearQuery(View.OWN, asked, ["TU_1"])], 9)
    assert "TU_1" not in near.cosines
    await index.aclose()
    await embedder.aclose()


@pytest.mark.slow
async def test_in_a_house_that_is_days_old_other_words_find_it_too_and_thanks_find_nothing(empty_house: House) -> None:
    house = empty_house
    await house.start(embedder="local")
    said = (
        "Our plumber repairs the radiators on Friday.",
        "We had pasta for lunch.",
        "The printer is out of paper.",
        "My sister plays the violin.",
        "Parking is full today.",
        "The invoice went out this morning.",
    )
    for words in said:
        await house.say("Ada", "general", f"@soul {words}")
        await house.reply("general", words)
    await house.idle()
    await _followed(house, have=2 * len(said))
    await house.answered("Ben", "dm", "Who fixes the heating?")
    assert "plumber repairs the radiators" in house.last_prompt()
    await house.answered("Ben", "dm", "Thanks a lot!")
    assert "surfaced from memory" not in house.last_prompt()
