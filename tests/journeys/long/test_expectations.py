"""What a soul expects is scored once, by what comes or when its time is over, and the next thought learns of it."""

import json
from typing import Any

import pytest

from daemon.mind.thought import CognitiveInput
from tests.given import shown
from tests.journeys.house import House
from tests.journeys.souls import write_soul
from tests.journeys.thinking import expecting, thought

EXPECTS, SURPRISED = "## What you expect", "## What came otherwise than you expected"
HOUR, DAY = 3_600, 86_400
ALONE: dict[str, Any] = {"name": "tess", "visit_silence": 60 * DAY, "dormant_after": 90 * DAY}
"""No silence is so long that the soul itself thinks of it."""
SCORES = "SELECT id, state, scored_by, surprise FROM predictions ORDER BY seq"


@pytest.fixture
async def thinker(empty_house: House) -> House:
    """A daemon whose soul thinks whole thoughts."""
    write_soul(empty_house.settings.home, more='mind = "cycle"\nsubprocesses = []\n')
    await empty_house.start(**ALONE)
    return empty_house


async def asked(house: House, words: str, *expected: dict[str, object], **parts: object) -> str:
    """Say something that the soul answers by a thought that expects this; gives the prompt."""
    house.model.replies.append(thought("I see.", predictions=list(expected), **parts))
    await house.answered("Ada", "dm", words)
    return shown([one for one in house.prompts if one.step == "think"][-1])


async def scores(house: House) -> list[tuple[object, ...]]:
    """What became of each expectation, oldest first."""
    return [tuple(row) for row in await house.rows(SCORES)]


async def newest(house: House) -> CognitiveInput:
    """What the newest thought was given."""
    row = await house.one("SELECT input FROM thoughts ORDER BY seq DESC LIMIT 1")
    return CognitiveInput.model_validate_json(row["input"])


async def test_the_thought_about_the_reply_that_was_awaited_is_given_its_outcome(thinker: House) -> None:
    first = await asked(thinker, "hello", expecting("Ada writes back", 0.9, "in 1h", kind="reply", who="user:Ada"))
    assert EXPECTS not in first
    second = await asked(thinker, "here I am")
    assert 'about="P1: you were 90% sure, and it came true">\nAda writes back\n</note-' in second
    assert SURPRISED not in second
    (error,) = (await newest(thinker)).prediction_errors
    assert (error.predicted, error.actual) == ("Ada writes back", "it came true")
    assert error.surprise == pytest.approx(0.1)
    assert await scores(thinker) == [("P1", "hit", "rule", pytest.approx(0.1))]
    row = await thinker.one("SELECT surprise, did FROM thoughts ORDER BY seq LIMIT 1 OFFSET 1")
    assert row["surprise"] == pytest.approx(0.1)
    assert "Ada writes back" not in await asked(thinker, "and?"), "it is given once"


async def test_when_the_time_is_over_a_rule_scores_without_a_call_and_a_surprise_comes_first(thinker: House) -> None:
    held = (
        expecting("Ada says that the import works", 0.9, "in 2h", kind="mention", words=["works"]),
        expecting("Ada is busy", 0.6, "in 2h", kind="silence"),
        expecting("Ada likes it", 0.5, "in 2h"),
    )
    await asked(thinker, "let us see", *held)
    calls, posts = len(thinker.prompts), len(await thinker.posting_calls())
    thinker.clock.turn(3 * HOUR)
    await thinker.no_row("SELECT id FROM predictions WHERE state = 'open'")
    assert (len(thinker.prompts), len(await thinker.posting_calls())) == (calls, posts)
    assert [row[:3] for row in await scores(thinker)] == [
        ("P1", "miss", "rule"),
        ("P2", "hit", "rule"),
        ("P3", "unresolved", "rule"),
    ]
    note = {"type": "write_episodic", "content": "The import is still slow.", "significance": 5, "tags": []}
    prompt = await asked(thinker, "back again", memory_ops=[{**note, "query": "", "when": ""}])
    assert prompt.index(SURPRISED) < prompt.index("## ", prompt.index(SURPRISED) + 3)
    assert "P1: you were 90% sure, and it did not come true" in prompt
    assert "P2: you were 60% sure, and it came true" in prompt
    assert [one.surprise for one in (await newest(thinker)).prediction_errors] == [
        pytest.approx(0.9),
        pytest.approx(0.4),
    ]
    kept = await thinker.one("SELECT significance FROM records WHERE text = 'The import is still slow.'")
    assert kept["significance"] == 7, "what surprises weighs more"


async def test_open_ones_stand_in_the_prompt_over_a_restart_and_a_repeated_one_is_refused(thinker: House) -> None:
    one = expecting("Ada sends the log", 0.8, "next few exchanges", kind="mention", words=["log"])
    await asked(thinker, "wait", one)
    await thinker.restart(**ALONE)
    prompt = await asked(thinker, "a moment", one, expecting("more", 0.2, "in 1h", kind="goal", id="G7"))
    assert 'about="P1, 80% sure, within 3 more replies">\nAda sends the log\n</note-' in prompt
    row = await thinker.one("SELECT refused FROM thoughts ORDER BY seq DESC LIMIT 1")
    assert json.loads(row["refused"]) == [["predictions", "duplicate"], ["predictions", "unknown"]]
    await asked(thinker, "still looking")
    assert "within 1 more replies" not in await asked(thinker, "no luck")
    assert await scores(thinker) == [("P1", "miss", "rule", pytest.approx(0.8))]
