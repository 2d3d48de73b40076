"""Turns that a person stops have no end that a hook tells of: what their session was asked in them is asked again."""

import pytest

from daemon.core.questions import WAKE_AGAIN_MS
from tests.hooks.companion import SessionProcess
from tests.journeys.asking import WORDS, AskedSession, asks, states
from tests.journeys.house import House, said
from tests.journeys.waking import begins, ends, process, resting

__all__ = ("process", "resting")
ANSWER = "It is 0042_tenants."


async def test_a_stopped_turn_loses_nothing_of_what_it_was_handed_at_its_end(
    house: House, session: AskedSession
) -> None:
    await asks(house, "Ada", "dm")
    assert WORDS in (await session.ends_turn("p1")).context
    await session.client.report("UserPromptSubmit", prompt_id="p2")  # the turn p1 went on for it, and was stopped
    assert await states(house) == ["waiting"]
    assert WORDS in (await session.client.report("Stop", prompt_id="p2", stop_hook_active=False)).context
    await session.goes_on(ANSWER, "p2")
    assert ANSWER in said(await house.reply("D0ADA", ANSWER))
    await session.ends_turn("p3")
    await house.idle()
    assert await states(house) == ["answered"]
    assert len([one for one in await house.replies("D0ADA") if ANSWER in one]) == 1


@pytest.mark.slow
async def test_a_turn_begun_in_the_name_of_another_hands_it_out_at_its_end(house: House, session: AskedSession) -> None:
    """A prompt that is typed while a turn ends comes in that turn's name; the turn that it begins is new at its end."""
    await asks(house, "Ada", "dm")
    assert WORDS in (await session.ends_turn("p1")).context
    await session.client.report("UserPromptSubmit", prompt_id="p1")
    assert await states(house) == ["delivered"]
    assert WORDS in (await session.client.report("Stop", prompt_id="p2", stop_hook_active=False)).context
    await session.goes_on(ANSWER, "p2")
    assert ANSWER in said(await house.reply("D0ADA", ANSWER))


async def test_what_is_heard_late_of_a_turn_before_takes_nothing_back(house: House, session: AskedSession) -> None:
    now = house.clock.now_ms()
    hook = {"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt_id": "p0"}
    late = {"id": "e1", "sent_ms": now - 60_000, "now_ms": now, "hook": hook}
    await asks(house, "Ada", "dm")
    await session.ends_turn("p1")
    assert (await session.ask("POST", "/api/sessions/events", json=late)).status == 200
    assert await states(house) == ["delivered"]
    await session.goes_on(ANSWER, "p1")
    assert ANSWER in said(await house.reply("D0ADA", ANSWER))


@pytest.mark.slow
async def test_a_woken_turn_that_was_stopped_wakes_its_session_no_more(
    house: House, process: SessionProcess, resting: AskedSession
) -> None:
    await asks(house, "Ada", "dm")
    await begins(resting, await process.woken())
    await begins(resting, "something else", "p2")  # Ada stopped the turn, and typed this
    assert await states(house) == ["waiting"]
    assert WORDS in await ends(resting, "Yes.", "p2")
    await begins(resting, "and again", "p3")
    assert await ends(resting, "No.", "p3") != ""
    house.clock.turn(WAKE_AGAIN_MS / 1000 + 1)
    await resting.goes_on(ANSWER, "p3")
    assert ANSWER in said(await house.reply("D0ADA", ANSWER))
    assert process.heard.empty()


@pytest.mark.slow
async def test_a_turn_that_failed_is_begun_again_after_a_minute(
    house: House, process: SessionProcess, resting: AskedSession
) -> None:
    await asks(house, "Ada", "dm")
    await begins(resting, await process.woken())
    await resting.client.report("StopFailure", prompt_id="p1", error="rate_limit")
    assert await states(house) == ["waiting"]
    assert process.heard.empty()
    house.clock.turn(WAKE_AGAIN_MS / 1000 + 1)
    await begins(resting, await process.woken(), "p2")
    assert await ends(resting, ANSWER, "p2") == ""
    assert ANSWER in said(await house.reply("D0ADA", ANSWER))


@pytest.mark.slow
async def test_a_wake_that_comes_into_a_turn_under_way_is_not_taken_for_its_beginning(
    house: House, process: SessionProcess, resting: AskedSession
) -> None:
    await asks(house, "Ada", "dm")
    text = await process.woken()
    await begins(resting, "do something long")  # before that is heard of, the session was woken
    await begins(resting, text)
    assert await states(house) == ["waiting"]
    assert await ends(resting, "I did something long.") == "", "its own turn may still begin"
    house.clock.turn(WAKE_AGAIN_MS / 1000 + 1)
    await begins(resting, await process.woken(), "p2")
    await ends(resting, ANSWER, "p2")
    await house.reply("D0ADA", ANSWER)
    await house.idle()
    assert not [one for one in await house.replies("D0ADA") if "something long" in one]
