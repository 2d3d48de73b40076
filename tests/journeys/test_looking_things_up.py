"""Hands in ordinary talk: where there is something to look in the soul looks it up and reads it, unless told not to."""

import asyncio
from pathlib import Path

import pytest

from daemon.local_slack.model import Json
from tests.fakes import TIMEOUT
from tests.given import shown
from tests.journeys.house import House, said
from tests.journeys.problems import PROBLEM, goes_on, indexed, parked, posted, reader, script, shelf, using
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


def cards_of(post: Json) -> list[tuple[str, str]]:
    """Titles and details of the cards under a message."""
    found: list[tuple[str, str]] = []

    def walk(value: object) -> None:
        if isinstance(value, dict) and "status" in value and "title" in value:
            found.append((str(value["title"]), str(value.get("details", ""))))
        elif isinstance(value, dict | list):
            for inner in value.values() if isinstance(value, dict) else value:
                walk(inner)

    walk(post)
    return found


async def test_each_card_says_in_words_of_its_own_what_is_looked_for(empty_house: House, docs: Path) -> None:
    await reader(empty_house, library=(docs,))
    await indexed(empty_house, 1)
    script(empty_house, SEARCH, chosen(("Read", "1")), chosen(("Read", "1 page 2")), RESPOND)
    flow = empty_house.flow()
    await empty_house.say("Ada", "dm", PROBLEM)
    async with asyncio.timeout(TIMEOUT):
        await flow.asked.wait()

    async def cards() -> list[tuple[str, str]] | None:
        posts = await empty_house.people.posts_by_bot("D0ADA")
        seen = cards_of(posts[-1]) if posts else []
        return seen if len(seen) == 5 else None

    assert await empty_house.until(cards) == [
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


@pytest.mark.parametrize("ism", [False, pytest.param(None, marks=pytest.mark.slow)])
async def test_told_not_to_or_with_nothing_to_look_in_it_answers_by_itself(
    empty_house: House, docs: Path, ism: bool | None
) -> None:
    (docs / "kilns.md").rename(docs / ("kilns.md" if ism is False else ".kilns.md"))
    await reader(empty_house, library=(docs,), ism_enabled=ism)
    script(empty_house, SEARCH)
    assert await empty_house.answered("Ada", "dm", PROBLEM) == "It leads nowhere."
    assert not any(prompt.step == "choose_actions" for prompt in empty_house.prompts)
    assert not any(step.startswith("move") and "problem_solving" in step for step in await empty_house.path())


async def test_a_setting_that_is_neither_leaves_out_what_needs_a_click(empty_house: House, tmp_path: Path) -> None:
    await reader(empty_house, mcp_servers=shelf(tmp_path))
    script(empty_house, chosen(("Research", "the word")), RESPOND, use_tool=using("shelf/look_up", word="clay"))
    script(empty_house, enters=False, external_dialog="A word [1].")
    assert await empty_house.answered("Ada", "dm", PROBLEM) == "A word [1].\n\n[1] `shelf/look_up`"
    choice = next(shown(prompt) for prompt in empty_house.prompts if prompt.step == "use_tool")
    assert "shelf/look_up" in choice
    assert "shelf/write_down" not in choice
    assert "write_down" not in actions(empty_house)


# -- what is not there -------------------------------------------------------------------------------------------------


async def test_a_document_that_vanished_after_it_was_found_is_one_sentence(empty_house: House, docs: Path) -> None:
    await reader(empty_house, library=(docs,))
    await indexed(empty_house, 1)

    async def read_too_late(_: object) -> str:
        (docs / "kilns.md").unlink()  # one file
        return chosen(("Read", "1"))

    script(empty_house, SEARCH)
    empty_house.model.steps["choose_actions"].extend([read_too_late, RESPOND])
    empty_house.model.steps["external_dialog"].append("Only so much [1].")
    answer = await empty_house.answered("Ada", "dm", PROBLEM)
    assert answer.startswith("Only so much [1].")
    assert "handbook/kilns.md can't be opened any more; this is what was found of it." in empty_house.last_prompt()


async def test_a_number_that_nothing_has_is_one_sentence_and_private_thoughts_stand_on_no_card(
    empty_house: House, docs: Path
) -> None:
    await reader(empty_house, library=(docs,))
    await indexed(empty_house, 1)
    script(empty_house, chosen(("Read", "1")), SEARCH, chosen(("Read", "99")), RESPOND, external_dialog="So far.")
    assert await empty_house.answered("Ada", "dm", PROBLEM) == "So far."
    assert "Nothing was found yet that could be opened." in empty_house.last_prompt()
    assert "There is no such passage; give the number of one, from 1 to " in empty_house.last_prompt()
    private = "<internal_monologue>CANARY</internal_monologue> kilns <@U0BEN>"
    script(empty_house, chosen(("Research", private), ("Think", "CANARY")), RESPOND, external_dialog="So.")
    assert await empty_house.answered("Ben", "dm", PROBLEM) == "So."
    left = await posted(empty_house)
    assert "CANARY" not in left
    assert "<@U0BEN>" not in left


# -- a question that waits ---------------------------------------------------------------------------------------------


async def test_what_was_found_keeps_its_number_while_a_question_waits_through_a_restart(
    empty_house: House, docs: Path
) -> None:
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
