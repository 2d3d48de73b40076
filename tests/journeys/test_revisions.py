"""Edits and deletions: the newest text is answered; a deleted message is not, and is forgotten (P8)."""

import pytest

from tests.given import CLOSING, OPENING, shown, tagged, wanting
from tests.journeys.house import House, said

_LONG = "This reply is long enough to be shown while it is still being made, which takes some eighty letters."


async def test_a_message_that_waits_is_answered_by_its_newest_text_and_not_at_all_once_it_is_deleted(
    empty_house: House,
) -> None:
    await empty_house.start(max_cycles=1)
    flow = empty_house.flow()
    await empty_house.say("Ben", "dm", "busy")
    await flow.asked.wait()
    ts = await empty_house.say("Ada", "dm", "what is 2 + 2?")
    await empty_house.people.edit("Ada", "dm", ts, "what is 3 + 3?")
    gone = await empty_house.say("Chloe", "dm", "a canary")
    await empty_house.people.delete("Chloe", "dm", gone)
    await empty_house.acknowledged()
    flow.end(tagged("Done."))
    await empty_house.reply("D0ADA")
    await empty_house.idle()
    assert await empty_house.replies("D0ADA") == ["Echo: what is 3 + 3?"]
    assert await empty_house.replies("D0CHLOE") == []
    seen = "".join(map(shown, empty_house.prompts))
    assert "2 + 2" not in seen
    assert "canary" not in seen
    assert (await empty_house.one("SELECT body, envelope FROM inbox WHERE ts = ?", gone))["body"] == ""


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
    await _streaming(house, "D0ADA")
    await house.people.edit("Ada", "dm", ts, "what is 5 + 5?")
    await house.acknowledged()
    flow.end(" Four.", CLOSING)
    await house.reply("D0ADA", "5 + 5")
    await house.idle()
    assert await house.replies("D0ADA") == ["Echo: what is 3 + 3?", "Echo: what is 5 + 5?"]
    assert len(await house.people.posts_by_bot("D0ADA")) == 2


async def _streaming(house: House, room: str) -> None:
    async def look() -> bool:
        return any(one.get("streaming_state") == "in_progress" for one in await house.people.posts_by_bot(room))

    await house.until(look)


async def test_a_message_deleted_while_the_model_thinks_is_not_answered_and_its_draft_ends_with_a_courteous_line(
    house: House,
) -> None:
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
    await _streaming(house, "general")
    await house.people.delete("Ada", "general", ts)
    await house.acknowledged()
    flow.end(CLOSING)
    await house.reply("general")
    await house.idle()
    posts = await house.people.posts_by_bot("C0GENERAL")
    assert [said(post) for post in posts] == ["_(The message I was answering is gone.)_"]


async def test_when_one_of_two_messages_is_deleted_the_other_is_answered(house: House) -> None:
    flow = house.flow()
    await house.say("Ada", "dm", "first")
    await flow.asked.wait()
    gone = await house.say("Ada", "dm", "a canary")
    await house.say("Ada", "dm", "third")
    await house.acknowledged()
    again = house.flow()
    flow.end(tagged("One."))
    await again.asked.wait()
    await house.people.delete("Ada", "dm", gone)
    await house.acknowledged()
    again.end(tagged("Two and three."))
    await house.reply("D0ADA", "third")
    await house.idle()
    assert await house.replies("D0ADA") == ["One.", "Echo: third"]
    assert "canary" not in house.last_prompt()


async def test_a_message_edited_or_deleted_after_its_answer_is_corrected_in_or_gone_from_the_next_prompt(
    house: House,
) -> None:
    house.model.replies.append(tagged("I see."))
    ts = await house.told("Ada", "dm", "the canary sings")
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
async def test_words_taken_away_while_a_later_message_is_thought_about_are_in_no_answer(
    house: House, change: str
) -> None:
    house.model.replies.append(tagged("I see."))
    ts = await house.told("Ada", "dm", "the canary sings")
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


@pytest.mark.slow
async def test_a_poem_is_not_kept_that_was_mended_while_the_words_it_was_made_of_were_deleted(house: House) -> None:
    respond = house.model.steps["respond"]
    respond += [wanting("poem"), tagged("Sing, canary.", calls_for="poem")]
    ts = await house.told("Ada", "dm", "write me a poem: the canary sings")
    flow = house.flow()
    await house.say("Ada", "dm", "make it shorter")
    await flow.asked.wait()
    await house.people.delete("Ada", "dm", ts)
    await house.acknowledged()
    flow.end(tagged("Canary.", calls_for="poem"))
    await house.reply("D0ADA", "Echo: make it shorter")
    await house.idle()
    assert await house.replies("D0ADA") == ["Sing, canary.", "Echo: make it shorter"]
    kept = str([tuple(row) for row in await house.rows("SELECT process_memory FROM conversations")])
    assert "anary" not in kept


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
