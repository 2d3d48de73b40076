"""*why* about what was looked up on purpose: documents, earlier talk, what a tool said; and by meaning."""

import re
from pathlib import Path

import pytest

from tests.journeys.house import House
from tests.journeys.problems import PROBLEM, indexed, script, shelf, solver, using
from tests.unit.ism_parts import chosen

RESPOND = chosen("Respond")
KILNS = chosen(("Research", "kilns that crack"))
NOTHING = "Nothing that I remember; it came from the talk itself or from what I know in general."


def _write(docs: Path) -> None:
    docs.mkdir()
    (docs / "kilns.md").write_text("# Kilns\n\nKilns crack when they cool faster than 60 degrees an hour.\n")


async def _documents(house: House, docs: Path) -> None:
    _write(docs)
    await solver(house, library=(docs,))
    await indexed(house, 1)
    script(house, KILNS, RESPOND, external_dialog="They cool too fast [1]. Or so I hear.")


async def test_a_sentence_that_cites_a_document_leads_to_it_until_it_is_gone(
    empty_house: House, tmp_path: Path
) -> None:
    await _documents(empty_house, tmp_path / "docs")
    await empty_house.answered("Ada", "dm", PROBLEM)
    answer = await empty_house.answered("Ada", "dm", "why")
    cited, rest = answer.split("\n\n")[1:]
    assert re.fullmatch(r"> They cool too fast\.\n- I read it in `.*kilns\.md:\d+`", cited)
    assert rest == f"> Or so I hear.\n{NOTHING}"
    await empty_house.stop()
    (tmp_path / "docs" / "kilns.md").unlink()
    await solver(empty_house, library=(tmp_path / "docs",))
    await empty_house.no_row("SELECT * FROM library_passages")
    answer = await empty_house.answered("Ada", "dm", "why")
    assert "> They cool too fast.\nIt rested on something that has since been forgotten or is no longer true." in answer
    assert "kilns.md" not in answer


async def test_what_was_found_in_earlier_talk_leads_to_the_message(empty_house: House) -> None:
    await solver(empty_house)
    await empty_house.answered("Ben", "general", "@soul kilns that crack cool too fast")
    script(empty_house, KILNS, RESPOND, external_dialog="Ben knows why [1].")
    await empty_house.answered("Ada", "dm", PROBLEM)
    answer = await empty_house.answered("Ada", "dm", "why")
    assert "> Ben knows why.\n- “kilns that crack cool too fast” (Ben, " in answer
    assert "/archives/C0GENERAL/p" in answer


@pytest.mark.slow
async def test_what_a_tool_said_is_named_as_the_reply_names_it(empty_house: House, tmp_path: Path) -> None:
    await solver(empty_house, mcp_servers=shelf(tmp_path))
    look_up = using("shelf/look_up", word="kiln")
    script(empty_house, chosen(("Research", "the word")), RESPOND, use_tool=look_up, external_dialog="A long word [1].")
    await empty_house.answered("Ada", "dm", PROBLEM)
    answer = await empty_house.answered("Ada", "dm", "why")
    assert answer.endswith("> A long word.\n- I looked it up in `shelf/look_up`")
