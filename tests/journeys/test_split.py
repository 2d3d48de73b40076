"""The split pipeline: one call for the thought and one for the reply; hints lead, and the checks follow the reply."""

import pytest

from daemon.core.errors import ModelUnavailable
from tests.journeys.house import House, said
from tests.journeys.souls import POETIC, write_soul
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "check", [[ModelUnavailable("gone")], ["no JSON at all", "still none"]], ids=["unavailable", "malformed"]
)
async def test_the_checks_are_the_first_job_after_the_reply_and_a_failed_one_leaves_it_alone(
    twin: House, check: list[Script]
) -> None:
    await twin.answered("Ada", "dm", "hello")
    twin.model.steps["mental_query"].extend(check)
    root = await twin.say("Ada", "dm", "I keep bees")
    await twin.events.until("job.failed", kind="models_the_visitor")
    post = (await twin.people.posts_by_bot("D0ADA"))[-1]
    assert (post["thread_ts"], said(post)) == (root, "Echo: I keep bees")
    steps = [prompt.step for prompt in twin.prompts]
    assert steps[2:] == ["internal_monologue", "external_dialog", *["mental_query"] * len(check)]


async def test_a_thought_that_fails_means_an_apology(twin: House) -> None:
    twin.model.replies.extend([ModelUnavailable("gone")] * 2)
    assert "I'm sorry" in await twin.answered("Ada", "dm", "hello")
    twin.model.replies.extend(["", ""])
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
    await twin.reply("D0ADA")
    await twin.idle()
    assert [said(post) for post in await twin.people.posts_by_bot("D0ADA")] == ["Only this."]
    assert "canary" not in str(await twin.people.calls())


@pytest.mark.slow
async def test_every_third_reply_it_asks_itself_whether_its_mood_has_changed(twin: House) -> None:
    for _ in range(2):
        await twin.answered("Ada", "dm", "hello")
    assert [prompt.step for prompt in twin.prompts].count("feel") == 0
    twin.model.steps["mental_query"].extend(['{"holds": false}', '{"holds": true}'])
    await twin.answered("Ada", "dm", "we are done!")
    assert "feel" in [prompt.step for prompt in twin.prompts]


# -- hints -------------------------------------------------------------------------------------------------------------


@pytest.fixture
async def hinting(empty_house: House) -> House:
    """A daemon with Tess, who speaks split, has modes and has met Ada."""
    more = 'pipeline = "split"\nsubprocesses = []\n'
    write_soul(empty_house.settings.home, more=more, modes={"academic": "", "poetic": POETIC})
    await empty_house.start(name="tess")
    for _ in range(3):
        await empty_house.answered("Ada", "dm", "hello")
    empty_house.prompts.clear()
    return empty_house


def steps(house: House) -> list[str]:
    return [prompt.step for prompt in house.prompts]


@pytest.mark.slow
async def test_a_mode_is_left_when_the_model_says_so(hinting: House) -> None:
    hinting.model.steps["mental_query"].append('{"holds": true}')
    hinting.model.steps["internal_monologue"] += ["So linen.", "no\nWool, then.", "Yes.\nThe coat.", "It hangs there."]
    for words in ("what do scholars say of linen?", "and of wool?", "where is my coat?"):
        await hinting.answered("Ada", "dm", words)
    assert (await hinting.path())[-4:] == [
        "stay: academic → academic, rule",
        "stay: academic → academic, rule",
        "move: academic → engaged, model",
        "stay: engaged → engaged, rule",
    ]
    assert steps(hinting) == [
        *("mental_query", "internal_monologue", "external_dialog"),
        *("internal_monologue", "external_dialog"),
        *("internal_monologue", "internal_monologue", "external_dialog"),
    ], "only the message that leaves costs a call more"
