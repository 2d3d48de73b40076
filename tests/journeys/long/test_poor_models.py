"""Weak models write their thoughts in odd forms: people get the words all the same, and nothing else."""

import json

import pytest

from daemon.core.errors import ModelRefused, ModelUnavailable
from tests.given import shown
from tests.journeys.house import House
from tests.journeys.souls import write_soul
from tests.journeys.thinking import CANARY, thought


@pytest.fixture
async def thinker(empty_house: House) -> House:
    """A daemon whose soul thinks whole thoughts."""
    await empty_house.start(name=write_soul(empty_house.settings.home, more='mind = "cycle"\n'))
    return empty_house


PRIVATE = {
    f"(thinks: {CANARY}) Good morning.": "Good morning.",
    f"Good morning. [inner_speech: {CANARY}]": "Good morning.",
    thought(f"{CANARY} hello"): "Echo: hello",
    f"So. <note-2f62b032d1 about='x'>{CANARY}</note-2f62b032d1>": "Echo: hello",
}


async def test_nothing_private_within_the_speech_is_shown(thinker: House) -> None:
    for speech, said in PRIVATE.items():
        whole = thought(speech)
        pieces = [whole[start : start + 5] for start in range(0, len(whole), 5)]
        thinker.model.replies.extend([pieces, pieces] if said.startswith("Echo") else [pieces])
        assert await thinker.answered("Ada", "dm", "hello") == said, speech
    assert CANARY not in str(await thinker.people.calls())


async def test_a_model_that_copies_its_prompt_shows_no_thought_of_the_soul(thinker: House) -> None:
    thinker.model.replies.append(thought("Hello.", inner_speech=f"{CANARY} of before"))
    await thinker.answered("Ada", "dm", "hello")
    thinker.model.replies.append(thought("Hm."))
    await thinker.answered("Ada", "dm", "and?")
    prompt = shown(thinker.prompts[-1])
    assert CANARY in prompt
    copied = thinker.prompts[-1].messages[-1].text
    thinker.model.replies.extend([thought(copied), thought(copied), copied, copied])
    await thinker.say("Ada", "dm", "and now?")
    await thinker.settled("D0ADA", count=3)
    assert CANARY not in json.dumps(await thinker.posting_calls())


async def test_a_reply_with_bare_quotation_marks_is_not_cut_off_at_the_first(thinker: House) -> None:
    misquoted = thought("The table is called @jobs@ here.").replace("@", '"')
    thinker.model.replies.extend([misquoted, thought('The table is called "jobs" here.')])
    assert await thinker.answered("Ada", "dm", "which table?") == 'The table is called "jobs" here.'


LONG = "The import runs at six, and it reads the rows one after the other until the last of them. " * 4


async def test_a_thought_that_breaks_off_behind_its_speech_has_said_it(thinker: House) -> None:
    whole = thought(LONG, emotion_signal="calm", goal_updates=[{"action": "add", "goal": "read the log"}])
    broken = ModelUnavailable("it broke off")
    thinker.model.replies.extend(["a first answer, in no form", thought("Hello.")])
    await thinker.answered("Ada", "dm", "hello")
    thinker.model.replies.append([whole[: whole.index("read the log")], broken])
    assert await thinker.answered("Ada", "dm", "when does it run?") == LONG.strip()
    kept = await thinker.one("SELECT output, degraded FROM thoughts ORDER BY seq DESC LIMIT 1")
    assert (json.loads(kept["output"])["emotion_signal"], kept["degraded"]) == ("calm", 0)
    assert await thinker.rows("SELECT 1 FROM goals") == []
    thinker.model.replies.extend([[whole[: whole.index("until")], broken]] * 2)
    assert "can't be reached" in await thinker.answered("Ada", "dm", "when does it run?")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("", "scripted/test keeps no form that can be read"),
        pytest.param(
            ModelRefused("the prompt is too long for it"),
            "scripted/test refuses what it is asked",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ModelUnavailable("it is down"), "scripted/test can't be reached, or breaks off", marks=pytest.mark.slow
        ),
    ],
)
async def test_where_people_get_apologies_the_doctor_says_so(
    thinker: House, answer: str | Exception, told: str
) -> None:
    assert "answers" not in await thinker.command("doctor", "--offline")
    thinker.model.default = answer
    for number in range(4):
        assert "I'm sorry" in await thinker.answered("Ada", "dm", f"hello {number}")
    found = await thinker.command("doctor", "--offline")
    assert f"4 of the last 4 messages got an apology in place of an answer: {told}" in found
    assert "the log tells more at event=cycle.failed" in found
    assert "replies go on" not in found
    await thinker.change("UPDATE llm_calls SET tick = 1")  # as of thoughts of its own, which nobody waits for
    assert "got an apology" not in await thinker.command("doctor", "--offline")


async def test_a_soul_that_can_not_think_whole_thoughts_is_told_by_the_doctor(thinker: House) -> None:
    for number in range(3):
        thinker.model.replies.extend(["no thought", "none again"])
        await thinker.answered("Ada", "dm", f"hello {number}")
    found = await thinker.command("doctor", "--offline")
    assert "tess: too many answers could not be read as thoughts, so it answers in words for 60 min more" in found
    assert "got an apology" not in found
