"""The stream of thought of a soul that lives: what stands in it, who may look into it, and what is left of it (P45)."""

import json

import pytest

from tests.given import tagged
from tests.journeys.house import House
from tests.journeys.own_memory import files_with
from tests.journeys.souls import POETIC, write_soul

WORDS = "quincunx"


def considered(speech: str, inner: str) -> str:
    """A whole thought, in the form of the wire."""
    return json.dumps(
        {"calls_for": "nothing", "inner_speech": inner, "external_speech": speech, "user_model_check": False}
    )


@pytest.fixture
async def thinker(empty_house: House) -> House:
    """A daemon whose soul thinks whole thoughts, and writes poems."""
    name = write_soul(empty_house.settings.home, more='mind = "cycle"\n', modes={"poetic": POETIC})
    await empty_house.start(name=name)
    return empty_house


async def thoughts(house: House, *options: str) -> list[dict[str, object]]:
    """What `soul thoughts` prints as JSON."""
    (row,) = await house.rows("SELECT DISTINCT soul FROM thoughts")
    listed: list[dict[str, object]] = json.loads(
        await house.command("thoughts", "--soul", row["soul"], "--json", *options)
    )
    return listed


async def test_the_admin_sees_what_was_thought_and_what_it_cost_and_the_words_only_on_record(thinker: House) -> None:
    for number in range(3):
        thinker.model.replies.append(considered(f"Answer {number}.", f"Thought {number}."))
        await thinker.answered("Ada", "dm", f"question {number}")
    seen = await thoughts(thinker)
    assert [one["previous"] for one in seen] == ["", *(one["id"] for one in seen[:-1])]
    assert {(one["occasion"], one["process"] != "", one["spoke"], one["output"]) for one in seen} == {
        ("words", True, True, "")
    }
    spent = await thinker.one("SELECT count(*) AS calls, sum(tokens_in) AS t FROM llm_calls WHERE step = 'think'")
    assert (sum(int(str(one["calls"])) for one in seen), sum(int(str(one["tokens_in"])) for one in seen)) == (
        spent["calls"],
        spent["t"],
    )
    assert [one["output"] for one in await thoughts(thinker, "--words")] == ["", "", ""]
    assert await thinker.rows("SELECT * FROM word_readings") == []
    worded = await thoughts(thinker, "--words", "--private")
    assert [one["output"]["inner_speech"] for one in worded] == ["Thought 0.", "Thought 1.", "Thought 2."]  # type: ignore[index]
    assert [row["person"] for row in await thinker.rows("SELECT person FROM word_readings")] == ["U0ADA"]


async def test_a_poem_leaves_a_thought_too(thinker: House) -> None:
    thinker.model.replies.append([json.dumps({"calls_for": "poem"})[:-1] + ', "inner_speech": ""', "never asked for"])
    poem = tagged("Bees in the thyme,\nthe hill hums.", monologue="A hum.", calls_for="poem")
    thinker.model.steps["respond"].append(poem)
    await thinker.answered("Ada", "dm", "a poem, please")
    (made,) = await thoughts(thinker, "--words", "--private")
    assert "Bees in the thyme" in str(made["output"])
    assert "A hum." in str(made["output"])
    assert (made["input"], made["process"], made["spoke"]) == ("", "poetic", True)


async def test_after_forget_me_no_file_holds_what_was_thought_of_it(thinker: House) -> None:
    thinker.model.replies.append(considered("A pattern, I see.", f"Bees in a {WORDS}."))
    await thinker.answered("Ada", "dm", f"my bees stand in a {WORDS}")
    thinker.model.replies.append(considered("I weave, too.", "Ben weaves."))
    await thinker.answered("Ben", "general", "@soul I weave")
    before = await thinker.rows("SELECT id, previous, occasion, calls FROM thoughts ORDER BY seq")
    assert "yes, forget me" in await thinker.answered("Ada", "dm", "forget me")
    await thinker.answered("Ada", "dm", "yes, forget me")
    await thinker.idle()
    assert files_with(thinker.settings.home, WORDS) == []
    hers, his = await thinker.rows("SELECT input, output, emptied FROM thoughts ORDER BY seq")
    assert tuple(hers) == ("", "", 1)
    assert "Ben weaves." in his["output"]
    assert [tuple(row) for row in await thinker.rows("SELECT id, previous, occasion, calls FROM thoughts")] == [
        tuple(row) for row in before
    ]
