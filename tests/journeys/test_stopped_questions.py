"""A question for permission lapses with the reply or the problem that a person stopped, and its buttons say so."""

from pathlib import Path

import pytest

from daemon.local_slack.model import Json
from tests.journeys.house import House, said
from tests.journeys.problems import (
    NO,
    PROBLEM,
    SHELF,
    YES,
    asked,
    buttons,
    goes_on,
    lines,
    script,
    shelf,
    solver,
    using,
)
from tests.unit.ism_parts import chosen

LAPSED = "No longer asked: it was stopped."


@pytest.fixture
def note(tmp_path: Path) -> Path:
    return tmp_path / "note.txt"


async def asks(house: House, note: Path) -> None:
    """Tess begins to ask whether she may use the tool that writes."""
    await solver(house, mcp_servers=shelf(note.parent))
    script(house, chosen(("Research", "write")), use_tool=using(SHELF, path=str(note), text="the kiln"))


async def lapsed(house: House, ts: str) -> Json:
    """Wait until a question has no buttons any more; gives its message."""

    async def look() -> Json | None:
        posts = await house.people.posts_by_bot("D0ADA")
        return next((one for one in posts if one["ts"] == ts and LAPSED in said(one)), None)

    post = await house.until(look)
    await house.idle()
    return post


@pytest.mark.slow
async def test_the_question_of_a_problem_given_up_lapses_and_no_click_counts(empty_house: House, note: Path) -> None:
    await asks(empty_house, note)
    await empty_house.say("Ada", "dm", PROBLEM)
    question = await asked(empty_house)
    assert len(buttons(question)) == 2
    goes_on(empty_house)
    flow = empty_house.flow()
    other = await empty_house.say("Ada", "dm", "and what of the flue?")
    await flow.asked.wait()
    await empty_house.say("Ada", "dm", "stop")
    await empty_house.final_state(other)
    post = await lapsed(empty_house, question["ts"])
    assert buttons(post) == []
    [row] = await empty_house.rows("SELECT state, decided_by FROM approvals")
    assert tuple(row) == ("expired", "")
    assert not await empty_house.rows("SELECT 1 FROM inbox WHERE modality = 'decision'")
    assert lines(note) == 0


@pytest.mark.slow
async def test_a_question_that_is_just_being_posted_lapses_once_it_stands_there(empty_house: House, note: Path) -> None:
    await asks(empty_house, note)
    await empty_house.people.fault("chat.postMessage", delay=30.0)
    await empty_house.say("Ada", "dm", PROBLEM)
    await empty_house.when(lambda: empty_house.people.met("chat.postMessage"))
    await empty_house.say("Ada", "dm", "stop")
    await empty_house.events.until("slack.heard", 2)
    empty_house.clock.turn(40)
    await empty_house.no_row("SELECT 1 FROM approvals WHERE state = 'waiting'")
    await empty_house.idle()
    shown = [one for post in await empty_house.people.posts_by_bot("D0ADA") for one in buttons(post)]
    assert not {YES, NO} & set(shown)
    assert not await empty_house.rows("SELECT 1 FROM inbox WHERE modality = 'decision'")
    assert lines(note) == 0


async def test_the_line_in_place_of_a_rest_that_is_left_out_is_in_the_language_of_the_person(house: House) -> None:
    await house.people.add_person("Dora", locale="de-DE")
    room = await house.people.open_dm("Dora")
    await house.people.fault("chat.postMessage", status=429, headers={"Retry-After": "20"})
    await house.say("Dora", "dm", "hallo")
    await house.events.until("outbox.postponed")
    await house.say("Dora", "dm", "stop")
    await house.row("SELECT 1 FROM outbox WHERE state = 'dropped'")
    house.clock.turn(25)
    assert said(await house.reply(room)) == "Angehalten: Den Rest meiner Antwort lasse ich weg."
