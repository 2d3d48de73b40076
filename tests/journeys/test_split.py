"""The split pipeline: one call for the thought and one for the reply, with the same promises."""

import pytest

from daemon.core.errors import ModelUnavailable
from tests.journeys.house import House, said
from tests.models import Script

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


async def test_it_thinks_then_speaks_then_weighs_and_only_the_speech_is_posted(twin: House) -> None:
    twin.model.replies.extend(["a canary thought", 'Twin said: "Out loud."', '{"true": true}'])
    assert await twin.answered("Ada", "general", "@soul hello") == "Out loud."
    assert [prompt.step for prompt in twin.prompts] == ["internal_monologue", "external_dialog", "mental_query"]
    assert "a canary thought" in str(twin.prompts[1].messages), "it speaks with its thought in mind"
    assert [prompt.creativity for prompt in twin.prompts] == [0.7, 0.9, 0.2]
    assert "canary" not in str(await twin.people.calls())
    turn = await twin.one("SELECT body, thought FROM turns WHERE speaker = 'soul'")
    assert turn["body"] == "Out loud."
    assert '"monologue": "a canary thought"' in turn["thought"]
    assert '"user_model_check": true' in turn["thought"]
    assert len(await twin.rows("SELECT * FROM llm_calls WHERE outcome = 'ok'")) == 3


async def test_its_thought_is_not_remembered_as_speech(twin: House) -> None:
    twin.model.replies.extend(["a canary thought", "Aloud.", '{"true": false}', "another", "Again.", '{"true": false}'])
    await twin.answered("Ada", "dm", "hello")
    await twin.answered("Ada", "dm", "and?")
    assert "canary" not in twin.last_prompt()
    assert "Aloud." in twin.last_prompt()


@pytest.mark.parametrize(
    "check", [[ModelUnavailable("gone")], ["no JSON at all", "still none"]], ids=["unavailable", "malformed"]
)
async def test_a_background_job_that_fails_leaves_the_reply_alone(twin: House, check: list[Script]) -> None:
    twin.model.replies.extend(["hm", "Out loud.", *check])
    assert await twin.answered("Ada", "dm", "hello") == "Out loud."
    assert "user_model_check" not in (await twin.one("SELECT thought FROM turns WHERE speaker = 'soul'"))["thought"]
    assert len(await twin.rows("SELECT * FROM llm_calls")) == 2 + len(check)


@pytest.mark.parametrize("thought", [ModelUnavailable("gone"), ""])
async def test_a_thought_that_fails_means_an_apology(twin: House, thought: Script) -> None:
    twin.model.replies.extend([thought, thought])
    assert "I'm sorry" in await twin.answered("Ada", "dm", "hello")


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
    twin.model.replies.append('{"true": false}')
    await twin.reply("D0ADA")
    await twin.idle()
    assert [said(post) for post in await twin.people.posts_by_bot("D0ADA")] == ["Only this."]
    assert "canary" not in str(await twin.people.calls())


async def test_every_third_reply_it_asks_itself_whether_its_mood_has_changed(twin: House) -> None:
    for _ in range(2):
        await twin.answered("Ada", "dm", "hello")
    assert [prompt.step for prompt in twin.prompts].count("feel") == 0
    twin.model.replies.extend(["hm", "Aloud.", '{"true": false}', '{"true": true}'])
    await twin.answered("Ada", "dm", "we are done!")
    assert "feel" in [prompt.step for prompt in twin.prompts]
