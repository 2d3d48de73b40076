"""Reminders that wait for a silence in a thread, and what becomes of those that wait in vain."""

import pytest

from tests.given import shown
from tests.journeys.house import House
from tests.journeys.waiting import CAME_UP, DAY, WAITING, asked, hears, reports, set_for, settled

GENERAL, ADA = "C0GENERAL", "D0ADA"
ASKED = "@soul tell me if nobody answers here for two days"
TWO_DAYS = asked(silence="2 days", what="ask again")


async def turned(house: House, seconds: float) -> None:
    """Turn the clock, and wait until what falls due by then is done."""
    house.clock.turn(seconds)
    due = "SELECT 1 FROM intentions WHERE state = 'waiting' AND slot <> 'idle' AND due_ms <= ?"
    await house.no_row(due, house.clock.now_ms())
    await house.idle()


async def test_a_thread_that_stays_silent_is_brought_up_there_once(house: House) -> None:
    root = await hears(house, "Ada", "general", "@soul who can lend me a kiln?")
    confirmed = await set_for(house, ASKED, TWO_DAYS, room="general", thread=root)
    assert "once there were no words in this conversation for as long as they said" in confirmed
    await turned(house, 1.9 * DAY)
    assert not await reports(house, GENERAL)
    await house.restart()
    house.clock.turn(61)
    await turned(house, 0.2 * DAY)
    post = await house.reply(GENERAL, CAME_UP)
    assert post["thread_ts"] == root
    await turned(house, 5 * DAY)
    assert await reports(house, GENERAL) == [""]
    assert not await house.rows(WAITING)


@pytest.mark.slow
async def test_an_answer_puts_it_off_also_one_that_was_missed(house: House) -> None:
    root = await hears(house, "Ada", "general", "@soul who can lend me a kiln?")
    await set_for(house, ASKED, TWO_DAYS, room="general", thread=root)
    await turned(house, 1.5 * DAY)
    await house.say("Ben", "general", "<@U0ADA> I might", thread=root)
    await house.acknowledged()
    await settled(house)
    await turned(house, 1.0 * DAY)
    assert not await reports(house, GENERAL)
    await house.stop()
    await house.say("Ben", "general", "<@U0ADA> tomorrow", thread=root)
    house.clock.turn(1.5 * DAY)
    await house.start()
    house.clock.turn(61)
    await settled(house)
    assert not await reports(house, GENERAL)
    await turned(house, 0.6 * DAY)
    await house.reply(GENERAL, CAME_UP)


@pytest.mark.slow
async def test_one_that_never_came_up_is_said_to_have_ended_once_and_one_that_did_ends_silently(house: House) -> None:
    await set_for(house, "Remind me when the budget is talked about", asked("the budget", times=3, until="in 3 days"))
    await hears(house, "Ben", "general", "@soul the budget is out")
    assert len(await reports(house, ADA)) == 1
    await set_for(house, "Remind me when the release is talked about", asked("the release", until="in 3 days"))
    before = len(house.prompts)
    await turned(house, 3 * DAY + 120)
    await house.reply(ADA, CAME_UP, count=2)
    assert "It has not happened within its time" in "".join(map(shown, house.prompts[before:]))
    await turned(house, 3 * DAY)
    assert not await house.rows(WAITING)
    assert not await house.rows("SELECT 1 FROM cues UNION ALL SELECT 1 FROM cue_words")
    await hears(house, "Ben", "general", "@soul the release is out")
    assert len(await reports(house, ADA)) == 2
