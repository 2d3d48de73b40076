"""Edits and deletions: the newest text is answered; a deleted message is not, and is forgotten (P8)."""

import pytest

from tests.given import CLOSING, OPENING, tagged
from tests.journeys.house import House, said

_LONG = "This reply is long enough to be shown while it is still being made, which takes some eighty letters."


async def test_a_message_edited_while_the_model_thinks_is_answered_anew_in_the_place_of_its_draft(house: House) -> None:
    flow = house.flow()
    ts = await house.say("Ada", "dm", "what is 2 + 2?")
    await flow.asked.wait()
    await house.people.edit("Ada", "dm", ts, "what is 3 + 3?")
    await house.acknowledged()
    flow.end(tagged("Four."))
    await house.reply("D0ADA", "3 + 3")
    await house.idle()
    assert await house.replies("D0ADA") == ["Echo: what is 3 + 3?"]
    assert [row["outcome"] for row in await house.rows("SELECT outcome FROM llm_calls")] == ["ok", "ok"]
    flow = house.flow()
    ts = await house.say("Ada", "dm", "what is 2 + 2?")
    await flow.asked.wait()
    flow.say(OPENING, _LONG)
    await house.draft("D0ADA")
    await house.people.edit("Ada", "dm", ts, "what is 5 + 5?")
    await house.acknowledged()
    flow.end(" Four.", CLOSING)
    await house.reply("D0ADA", "5 + 5")
    await house.idle()
    assert await house.replies("D0ADA") == ["Echo: what is 3 + 3?", "Echo: what is 5 + 5?"]
    assert len(await house.people.posts_by_bot("D0ADA")) == 2


async def test_a_message_deleted_while_the_model_thinks_is_not_answered_and_its_draft_ends(house: House) -> None:
    flow = house.flow()
    ts = await house.say("Ada", "dm", "never mind")
    await flow.asked.wait()
    await house.people.delete("Ada", "dm", ts)
    await house.acknowledged()
    flow.end(tagged("But I do mind."))
    await house.idle()
    assert await house.replies("D0ADA") == []
    assert await house.rows("SELECT * FROM turns") == []
    assert await house.final_state(ts) == "withdrawn"
    flow = house.flow()
    ts = await house.say("Ada", "general", "@soul never mind")
    await flow.asked.wait()
    flow.say(OPENING, _LONG)
    await house.draft("general")
    await house.people.delete("Ada", "general", ts)
    await house.acknowledged()
    flow.end(CLOSING)
    await house.reply("general")
    await house.idle()
    posts = await house.people.posts_by_bot("C0GENERAL")
    assert [said(post) for post in posts] == ["_(The message I was answering is gone.)_"]


async def test_what_is_edited_or_deleted_after_its_answer_is_so_in_the_next_prompt(house: House) -> None:
    house.model.replies.append(tagged("I see."))
    ts = await house.heard("Ada", "dm", "the canary sings")
    await house.people.edit("Ada", "dm", ts, "the heron sings")
    await house.acknowledged()
    await house.idle()
    assert len(house.prompts) == 1, "an edit after the answer is no new question"
    house.model.replies.append(tagged("Of a bird."))
    await house.answered("Ada", "dm", "what did I say?")
    assert "canary" not in house.last_prompt()
    assert "the heron sings" in house.last_prompt()
    await house.people.delete("Ada", "dm", ts)
    await house.acknowledged()
    await house.answered("Ada", "dm", "and now?")
    assert "heron" not in house.last_prompt()
    kept = [row["body"] for table in ("turns", "inbox") for row in await house.rows(f"SELECT body FROM {table}")]
    assert not any("canary" in body or "heron" in body for body in kept)


@pytest.mark.parametrize("change", [pytest.param("edit", marks=pytest.mark.slow), "deletion"])
async def test_words_taken_away_while_a_later_message_is_thought_of_are_in_no_answer(house: House, change: str) -> None:
    house.model.replies.append(tagged("I see."))
    ts = await house.heard("Ada", "dm", "the canary sings")
    flow = house.flow()
    await house.say("Ada", "dm", "what did I say?")
    await flow.asked.wait()
    assert "canary" in house.last_prompt()
    flow.say(OPENING, f"{_LONG} The canary sings.")
    await house.draft("D0ADA", _LONG)
    if change == "edit":
        await house.people.edit("Ada", "dm", ts, "the heron sings")
    else:
        await house.people.delete("Ada", "dm", ts)
    await house.acknowledged()
    flow.end(" So you said.", CLOSING)
    await house.reply("D0ADA", "Echo: what did I say?")
    await house.idle()
    assert await house.replies("D0ADA") == ["I see.", "Echo: what did I say?"]
    assert "canary" not in house.last_prompt()
    assert "canary" not in str([row["body"] for row in await house.rows("SELECT body FROM turns")])


async def test_a_mention_that_was_edited_into_a_message_is_answered_once(house: House) -> None:
    ts = await house.say("Ada", "general", "lunch?")
    await house.people.edit("Ada", "general", ts, "@soul lunch?")
    mention = {"type": "app_mention", "user": "U0ADA", "ts": ts, "channel": "C0GENERAL", "edited": {"user": "U0ADA"}}
    for _ in range(2):
        await house.people.emit({**mention, "text": f"<@{house.workspace.bot_user.id}> lunch?"})
    await house.reply("general", "lunch")
    await house.people.edit("Ada", "general", ts, "@soul dinner?")
    await house.acknowledged()
    await house.idle()
    assert await house.replies("general") == ["Echo: lunch?"]


async def test_a_message_meant_for_others_is_answered_once_an_edit_asks_the_soul(house: House) -> None:
    root = await house.say("Ada", "general", "@soul hello")
    await house.reply("general")
    ts = await house.say("Ada", "general", "@Ben lunch?", thread=root)
    await house.people.edit("Ada", "general", ts, "@Ben @soul lunch?")
    assert await house.reply("general", "lunch")
