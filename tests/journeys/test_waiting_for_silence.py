"""Reminders that come up only if no one has answered by then, and requests that reminders can't wait for."""

import json

import pytest

from tests.given import shown, tagged, wanting
from tests.journeys.house import House

GENERAL, DAY = "C0GENERAL", 86_400.0
WAITING = "SELECT * FROM intentions WHERE state = 'waiting' AND slot <> 'idle'"
ASKED = "@soul tell me if no one answers here for two days"
TWO_DAYS = json.dumps({"what": "ask again", "when": "in 2 days", "unanswered": True})
CAME_UP = "No one has answered."


async def set_for(house: House, words: str, answer: str, *, room: str = "general", thread: str = "") -> tuple[str, str]:
    """Ask for a reminder; gives the prompt of the confirmation and the reply."""
    house.model.replies += [wanting("reminder"), answer, tagged("Noted.")]
    reply = await house.answered("Ada", room, words, thread=thread)
    return shown(house.prompts[-1]), reply


async def asked_in_a_thread(house: House) -> str:
    """Ada asks in a thread to be reminded if no one answers there; gives the ts of its first message."""
    root = await house.heard("Ada", "general", "@soul who can lend me a kiln?")
    prompt, reply = await set_for(house, ASKED, TWO_DAYS, thread=root)
    assert "only if no one else has written here by then" in prompt
    assert "if no one else writes there by then: ask again." in reply
    assert len(await house.rows(WAITING)) == 1
    return root


async def turned(house: House, seconds: float) -> None:
    """Turn the clock, and wait until what falls due by then is done."""
    house.clock.turn(seconds)
    await house.no_row(f"{WAITING} AND due_ms <= ?", house.clock.now_ms())
    await house.idle()


async def test_a_thread_that_stays_silent_is_brought_up_there_once(house: House) -> None:
    root = await asked_in_a_thread(house)
    await house.heard("Ada", "general", "@soul thanks", thread=root)
    await turned(house, 1.9 * DAY)
    assert len(await house.rows(WAITING)) == 1, "one's own words are no answer"
    await house.restart()
    house.model.replies.append(tagged(CAME_UP))
    house.clock.turn(61)
    await turned(house, 0.2 * DAY)
    post = await house.reply(GENERAL, CAME_UP)
    assert post["thread_ts"] == root
    assert "if no one else had written here by now, and no one has" in shown(house.prompts[-1])
    await turned(house, 5 * DAY)
    assert not await house.rows(WAITING)


async def test_an_answer_cancels_it_also_one_to_others_and_one_that_was_missed(house: House) -> None:
    root = await asked_in_a_thread(house)
    await house.heard("Ben", "general", "@soul I might", thread=root)
    assert not await house.rows(WAITING)
    await set_for(house, ASKED, TWO_DAYS, thread=root)
    await house.stop()
    await house.say("Ben", "general", "<@U0ADA> tomorrow", thread=root)
    house.clock.turn(3 * DAY)
    await house.start()
    await house.no_row(WAITING)
    reasons = await house.rows("SELECT state, reason FROM intentions WHERE slot <> 'idle'")
    assert [tuple(row) for row in reasons] == [("cancelled", "answered")] * 2


async def test_it_is_listed_moved_and_cancelled_like_any_other(house: House) -> None:
    await asked_in_a_thread(house)
    assert "if no one else writes there by then: ask again" in await house.answered("Ada", "dm", "my reminders")
    assert "Reminder 1 is due" in await house.answered("Ada", "dm", "move reminder 1 to in 3 days")
    assert [row["cue"] for row in await house.rows(WAITING)] == ["silence"]
    assert await house.answered("Ada", "dm", "cancel reminder 1") == "Reminder 1 is cancelled."
    assert not await house.rows(WAITING)


@pytest.mark.parametrize("words", ["Remind me when the release is talked about", "Tell me when Ben writes"])
async def test_for_what_it_can_not_wait_a_line_says_what_it_can(house: House, words: str) -> None:
    prompt, reply = await set_for(house, words, json.dumps({"what": "the release"}), room="dm")
    assert "You have set no reminder: it needs a time" in prompt
    assert "I can remind you at a time" in reply
    assert not await house.rows(WAITING)


async def test_alone_with_the_soul_no_one_else_could_answer(house: House) -> None:
    prompt, reply = await set_for(house, "Tell me if no one answers for two days", TWO_DAYS, room="dm")
    assert "You could not set the reminder: no one else can answer" in prompt
    assert "No reminder is set." in reply
    assert not await house.rows(WAITING)
