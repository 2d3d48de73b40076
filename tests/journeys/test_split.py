"""The split pipeline: one call for the thought and one for the reply; hints lead, and the checks follow the reply."""

import json

import pytest

from daemon.core.errors import ModelUnavailable
from tests.given import shown
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
    spoken = shown([prompt for prompt in twin.prompts if prompt.step == "external_dialog"][-1])
    assert "canary" not in spoken
    assert "Out loud." in spoken


@pytest.mark.slow
async def test_its_check_after_the_reply_tells_how_message_and_reply_were_meant(twin: House) -> None:
    check = {"holds": False, "emotion_signal": "joy", "salience_anchor": "bees, wasps", "epistemic_mode": "caution"}
    twin.model.steps["mental_query"].extend([json.dumps(check)] * 8)
    for words in ("hello", "well", "I keep bees"):
        await twin.answered("Ada", "dm", words)
    heard = await twin.one(
        "SELECT emotion_signal, salience_anchor FROM turns WHERE speaker = 'person' ORDER BY seq DESC"
    )
    assert (heard["emotion_signal"], heard["salience_anchor"]) == ("joy", '["bees"]')
    stated = await twin.one("SELECT epistemic_mode FROM turns WHERE speaker = 'soul' ORDER BY seq DESC")
    assert stated["epistemic_mode"] == "caution"


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
@pytest.mark.parametrize("true", [True, False])
async def test_a_hint_costs_one_question_and_the_model_decides(hinting: House, true: bool) -> None:
    hinting.model.steps["mental_query"].append(json.dumps({"holds": true}))
    await hinting.answered("Ada", "dm", "that ballad was long, and so was the hymn")
    assert steps(hinting).count("mental_query") == 1
    assert ("poetic_composition" in steps(hinting)) == true
    assert [step for step in await hinting.path() if "engaged → poetic" in step] == [
        "move: engaged → poetic, model"
    ] * true
    hinting.model.steps["decision"].append('{"choice": "a word about it"}')
    hinting.model.steps["internal_monologue"].append("no\nThey only greet.")
    await hinting.answered("Ada", "dm", "good morning")
    speaking = ["internal_monologue", *["decision"] * true, "external_dialog"]
    assert steps(hinting)[-len(speaking) :] == speaking
    assert steps(hinting).count("mental_query") == 1, "whether a mode is left costs no question"


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


async def test_a_reminder_is_set_by_its_own_question(hinting: House) -> None:
    hinting.model.steps["intend"].append('{"when": "in 20m", "what": "the build", "drop": []}')
    await hinting.answered("Ada", "dm", "remind me of the build in 20 minutes")
    assert steps(hinting) == ["intend", "internal_monologue", "external_dialog"]
    assert "You have set a reminder for" in hinting.last_prompt()
