"""A soul that thinks whole thoughts has one mood: what each thought felt. It fades, and no other step asks for it."""

import json

import pytest

from daemon.mind.thought import CognitiveInput
from tests.journeys.house import House
from tests.journeys.souls import write_soul

MOODS = 'mind = "cycle"\nemotional_states = ["calm", "glad"]\n[mood]\nhalf_life_minutes = 60\n'


def thought(speech: str, **felt: object) -> str:
    """A thought in the form of the wire, with what it felt."""
    lead = {"calls_for": "nothing", "inner_speech": "So it is.", "external_speech": speech}
    return json.dumps({**lead, "user_model_check": False, "emotional_state": felt})


@pytest.fixture
async def feeling(empty_house: House) -> House:
    await empty_house.start(name=write_soul(empty_house.settings.home, more=MOODS))
    return empty_house


async def given_last(house: House) -> CognitiveInput:
    row = (await house.rows("SELECT input FROM thoughts ORDER BY seq"))[-1]
    return CognitiveInput.model_validate_json(row["input"])


async def test_what_a_thought_feels_is_its_mood_from_then_on_and_fades(feeling: House) -> None:
    moved = {"felt_quality": "zqwarm", "valence_shift": 0.6, "arousal_shift": -0.2, "mood": "Glad"}
    feeling.model.replies += [thought("Lovely."), thought("Yes.", **moved), thought("And now?"), thought("Later.")]
    for words in ("hello", "you did well", "and now?"):
        await feeling.answered("Ada", "dm", words)
    assert [prompt.step for prompt in feeling.prompts] == ["think"] * 3, "no step asks for the mood apart"
    felt = (await given_last(feeling)).emotional_state
    assert (felt.felt_quality, felt.valence, felt.arousal) == ("zqwarm", 0.6, -0.2)
    assert "zqwarm (valence +0.6, arousal -0.2, dominance +0.0)" in feeling.last_prompt()
    assert "Your mood: glad" in feeling.last_prompt()
    assert "glad" in await feeling.answered("Ada", "dm", "status")
    feeling.clock.turn(2 * 60 * 60)
    await feeling.answered("Ada", "dm", "and later?")
    felt = (await given_last(feeling)).emotional_state
    assert (felt.felt_quality, felt.valence, felt.arousal) == ("", 0.15, -0.05)
    assert "calm" in await feeling.answered("Ada", "dm", "status")
    feeling.model.replies += [thought("Hm.", mood="furious", valence_shift=0.5), thought("Well.")]
    await feeling.answered("Ada", "dm", "hm?")
    await feeling.answered("Ada", "dm", "well?")
    assert "Without effect: emotional_state: unknown" in feeling.last_prompt(), "it has no such mood"
    assert (await given_last(feeling)).emotional_state.valence > 0.15
