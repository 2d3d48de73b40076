"""Hands in ordinary talk: where there is something to look in the soul looks it up and reads it, unless told not to."""

import asyncio
from pathlib import Path

import pytest

from tests.fakes import TIMEOUT
from tests.given import shown
from tests.journeys.house import House, said
from tests.journeys.problems import PROBLEM, cards, goes_on, indexed, parked, reader, script, shelf, using
from tests.unit.ism_parts import chosen

SEARCH, RESPOND = chosen(("Research", "kilns crack")), chosen("Respond")
HEAT = "They may not lose more than 60 degrees an hour."


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with one long document, whose answer stands far behind the passage that a search finds."""
    folder = tmp_path / "handbook"
    folder.mkdir()
    filler = "\n\n".join(f"## Chapter {number}\n\n{'Glaze is glass. ' * 40}" for number in range(14))
    (folder / "kilns.md").write_text(
        f"# Kilns\n\nWhy kilns crack: see the last chapter.\n\n{filler}\n\n## Heat\n\n{HEAT}\n"
    )
    return folder


def actions(house: House) -> str:
    """The actions in the newest prompt in which one was chosen."""
    choice = [shown(prompt) for prompt in house.prompts if prompt.step == "choose_actions"][-1]
    return choice.partition("## Actions")[2].partition("##")[0]


async def test_each_card_says_in_words_of_its_own_what_is_looked_for(empty_house: House, docs: Path) -> None:
    await reader(empty_house, library=(docs,))
    await indexed(empty_house, 1)
    script(empty_house, SEARCH, chosen(("Read", "1")), chosen(("Read", "1 page 2")), RESPOND)
    flow = empty_house.flow()
    await empty_house.say("Ada", "dm", PROBLEM)
    async with asyncio.timeout(TIMEOUT):
        await flow.asked.wait()

    async def five() -> list[tuple[str, str]] | None:
        posts = await empty_house.people.posts_by_bot("D0ADA")
        seen = [(one["title"], one.get("details", "")) for post in posts for one in cards(post)]
        return seen if len(seen) == 5 else None

    assert await empty_house.until(five) == [
        ("Looked up what I know: 2", ""),
        ("Looking up “kilns crack”", "kilns crack (in handbook, earlier talk)"),
        ("Reading handbook/kilns.md:1", "passage 1"),
        ("Reading handbook/kilns.md:1, page 2", "passage 1"),
        ("Writing the answer", ""),
    ]
    cites = "See the last chapter [1], 60 degrees [8]."
    flow.end(cites)
    answer = said(await empty_house.reply("D0ADA", "See the last chapter"))
    assert answer.startswith(f"{cites}\n\n[1] `handbook/kilns.md:1`\n[8] `handbook/kilns")
    assert HEAT in empty_house.last_prompt()
    offered = actions(empty_house)
    assert "the folder handbook (1 document) and earlier talk" in offered
    assert not any(name in offered for name in ("Remind", "Escalate"))


async def test_a_setting_that_is_neither_leaves_out_what_needs_a_click(empty_house: House, tmp_path: Path) -> None:
    await reader(empty_house, mcp_servers=shelf(tmp_path))
    script(empty_house, chosen(("Research", "the word")), RESPOND, use_tool=using("shelf/look_up", word="clay"))
    script(empty_house, enters=False, external_dialog="A word [1].")
    assert await empty_house.answered("Ada", "dm", PROBLEM) == "A word [1].\n\n[1] `shelf/look_up`"
    choice = next(shown(prompt) for prompt in empty_house.prompts if prompt.step == "use_tool")
    assert "shelf/look_up" in choice
    assert "shelf/write_down" not in choice
    assert "write_down" not in actions(empty_house)


# -- a question that waits ---------------------------------------------------------------------------------------------


async def test_what_was_found_keeps_its_number_while_a_question_waits(empty_house: House, docs: Path) -> None:
    await reader(empty_house, library=(docs,))
    await indexed(empty_house, 1)
    script(empty_house, SEARCH, chosen(("Ask", "which kiln")), external_dialog="Which kiln?")
    await empty_house.answered("Ada", "dm", PROBLEM)
    await empty_house.restart(name="tess", library=(docs,))
    assert await parked(empty_house)
    goes_on(empty_house)
    script(empty_house, chosen(("Read", "1")), RESPOND, enters=False, external_dialog="The big one [1].")
    await empty_house.say("Ada", "dm", "the big one")
    assert said(await empty_house.reply("D0ADA", "The big one")).endswith("[1] `handbook/kilns.md:1`")
    await empty_house.idle()
    assert "[1] handbook/kilns.md:1\n# Kilns" in empty_house.last_prompt()
    assert not await parked(empty_house)
