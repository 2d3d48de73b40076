"""The split pipeline: one call for the thought and one for the reply."""

import pytest

from tests.journeys.house import House, said

_SOUL = 'name = "twin"\ndisplay_name = "Twin"\npipeline = "split"\n[creativity]\nexternal_dialog = 0.9\n'


@pytest.fixture
async def twin(empty_house: House) -> House:
    """A daemon with Twin, a soul with the split pipeline."""
    folder = empty_house.settings.home / "souls" / "twin"
    folder.mkdir(parents=True)
    (folder / "soul.toml").write_text(_SOUL)
    (folder / "soul.md").write_text("Twin is calm.")
    await empty_house.start(name="twin")
    return empty_house


async def test_it_thinks_then_speaks_and_only_the_speech_is_posted_and_remembered(twin: House) -> None:
    twin.model.replies.extend(["a canary thought", 'Twin said: "Out loud."'])
    assert await twin.answered("Ada", "dm", "hello") == "Out loud."
    assert [prompt.step for prompt in twin.prompts] == ["internal_monologue", "external_dialog"]
    assert "a canary thought" in str(twin.prompts[1].messages), "it speaks with its thought in mind"
    assert [prompt.creativity for prompt in twin.prompts] == [0.7, 0.9]
    assert "canary" not in str(await twin.people.calls())
    turn = await twin.one("SELECT body, thought FROM turns WHERE speaker = 'soul'")
    assert turn["body"] == "Out loud."
    assert '"monologue": "a canary thought"' in turn["thought"]
    assert len(await twin.rows("SELECT * FROM llm_calls WHERE outcome = 'ok'")) == 2
    twin.model.replies.extend(["another", "Again."])
    await twin.answered("Ada", "dm", "and?")
    again = next(prompt for prompt in reversed(twin.prompts) if prompt.step == "external_dialog")
    remembered = [message.text for message in again.messages if message.speaker.value == "assistant"]
    assert "Out loud." in str(remembered)
    assert "canary" not in str(remembered)


async def test_its_thought_says_what_is_called_for_and_no_word_of_a_message_does(twin: House) -> None:
    twin.model.replies.extend(["nothing\nNot yet.", "All right."])
    await twin.answered("Ada", "dm", "don't remember that I like tea")
    twin.model.replies.extend(
        ["remember\nThey want it kept.", '{"line": "Likes tea", "quote": "I like tea"}', "They like it.", "I will."]
    )
    assert await twin.answered("Ada", "dm", "by the way, I like tea. Never lose it.") == "I will."
    steps = [prompt.step for prompt in twin.prompts if prompt.step != "mental_query"]
    assert steps[2:] == ["internal_monologue", "note_down", "internal_monologue", "external_dialog"]
    assert [row["text"] for row in await twin.rows("SELECT text FROM records WHERE kind = 'fact'")] == ["Likes tea"]


async def test_its_speech_is_streamed_and_a_thought_in_its_place_is_not(twin: House) -> None:
    twin.model.replies.append("hm")
    flow = twin.flow()
    await twin.say("Ada", "dm", "hello")
    await flow.asked.wait()
    flow.say("These words are seen while they are made, because there are more than eighty letters of them. ")
    await twin.until(lambda: twin.people.calls("chat.startStream"))
    flow.end('Then Twin thought: "a canary"')
    second = twin.flow()
    await second.asked.wait()
    second.end("Only this.")
    await twin.reply("D0ADA")
    await twin.idle()
    assert [said(post) for post in await twin.people.posts_by_bot("D0ADA")] == ["Only this."]
    assert "canary" not in str(await twin.people.calls())
