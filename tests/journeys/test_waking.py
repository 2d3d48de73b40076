"""A session that rests is woken by its companion with what people ask it, and its answer stands in the thread."""

import pytest

from daemon.core.questions import MOST_WAKES, WAKE_AGAIN_MS, WOKEN_WITHIN_MS
from tests.hooks.companion import TOKEN, SessionProcess
from tests.journeys.asking import WORDS, AskedSession, asks, states
from tests.journeys.house import House, said
from tests.journeys.waking import begins, ends, process, resting

__all__ = ("process", "resting")


async def test_a_session_at_rest_is_woken_and_what_it_says_in_that_turn_is_the_answer(
    house: House, process: SessionProcess, resting: AskedSession
) -> None:
    await asks(house, "Ada", "dm")
    text = await process.woken()
    assert text.startswith("Your user, Ada")
    assert WORDS in text
    assert await states(house) == ["waiting"], "it is delivered once a turn begins"
    await begins(resting, f"{text}\n")
    assert await states(house) == ["delivered"]
    assert await ends(resting, "It is 0042_tenants.") == ""
    assert "It is 0042_tenants." in said(await house.reply("D0ADA", "0042_tenants"))
    await house.idle()
    row = await house.one("SELECT how, state, offers FROM shared_messages WHERE kind = 'question'")
    assert tuple(row) == ("socket", "answered", 1)
    assert await ends(resting, "And this is no answer.", "p2") == ""
    await house.idle()
    assert not [one for one in await house.replies("D0ADA") if "no answer" in one]
    kept = [path.read_bytes() for path in process.client.home.rglob("*") if path.is_file() and "state" in path.parts]
    for raw in (*kept, (house.settings.home / "memory.db").read_bytes()):
        assert TOKEN.encode() not in raw


@pytest.mark.slow
async def test_where_no_turn_begins_it_waits_for_the_end_of_one_and_a_late_turn_doubles_nothing(
    house: House, process: SessionProcess, resting: AskedSession
) -> None:
    await asks(house, "Ada", "dm")
    text = await process.woken()
    await begins(resting, "something else")
    assert await ends(resting, "Yes.") == "", "its own turn may still begin"
    house.clock.turn(WOKEN_WITHIN_MS / 1000 + 1)
    await begins(resting, "and again", "p2")
    assert WORDS in await ends(resting, "Yes.", "p2")
    await resting.goes_on("It is 0042_tenants.", "p2")
    await house.reply("D0ADA", "0042_tenants")
    await begins(resting, text, "p3")
    assert await ends(resting, "It is 0043, I say once more.", "p3") == ""
    await house.idle()
    assert await states(house) == ["answered"]
    assert not [one for one in await house.replies("D0ADA") if "0043" in one]


@pytest.mark.slow
async def test_it_is_woken_a_few_times_with_pauses_and_then_no_more(
    house: House, process: SessionProcess, resting: AskedSession
) -> None:
    await asks(house, "Ada", "dm")
    text = await process.woken()
    for _ in range(MOST_WAKES - 1):
        house.clock.turn(WAKE_AGAIN_MS / 1000 + 1)
        assert _words(await process.woken()) == _words(text)
    house.clock.turn(WAKE_AGAIN_MS / 1000 + 1)
    await begins(resting, "hello")
    assert WORDS in await ends(resting, "Hello.")
    assert process.heard.empty()


def _words(text: str) -> str:
    """What is asked, without the marks that are new each time."""
    return text.rpartition("</said-")[0].rpartition(">")[2]


@pytest.mark.slow
async def test_of_two_questions_the_second_follows_the_answer_to_the_first(
    house: House, process: SessionProcess, resting: AskedSession
) -> None:
    await asks(house, "Ada", "dm")
    text = await process.woken()
    await asks(house, "Ada", "dm", "and who wrote it?")
    await begins(resting, text)
    assert "and who wrote it?" in await ends(resting, "It is 0042_tenants.")
    await resting.goes_on("Ada wrote it.")
    await house.reply("D0ADA", "Ada wrote it.")
    await house.idle()
    assert await states(house) == ["answered", "answered"]
    assert process.heard.empty()


@pytest.mark.slow
async def test_after_clear_the_next_session_is_woken_with_what_the_one_did_not_answer(
    house: House, process: SessionProcess, resting: AskedSession
) -> None:
    await asks(house, "Ada", "dm")
    await begins(resting, await process.woken())
    await resting.client.report("SessionEnd", reason="clear")
    await resting.client.report("SessionStart", source="clear", session_id="s2")
    text = await process.woken()
    assert WORDS in text
    await begins(resting, text, "p2", session_id="s2")
    await ends(resting, "It is 0042_tenants.", "p2", session_id="s2")
    await house.reply("D0ADA", "0042_tenants")
    assert await states(house) == ["answered"]
