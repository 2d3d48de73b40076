"""The rehearsal model in the local workspace: a soul that thinks whole thoughts, without a language model."""

import json
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from daemon.core.ports.models import Prompt
from daemon.llm.rehearsal import rehearsal_answer
from tests.journeys.house import House, said
from tests.journeys.souls import write_soul
from tests.models import Reply


async def rehearse(prompt: Prompt) -> Reply:
    """Answer as the rehearsal model does."""
    return rehearsal_answer(prompt)


@pytest.fixture
async def house(empty_house: House) -> House:
    """A daemon whose soul thinks whole thoughts, as the lines of messages say."""
    empty_house.model.default = rehearse
    await empty_house.start(name=write_soul(empty_house.settings.home, more='mind = "cycle"\n'))
    return empty_house


async def test_it_says_and_thinks_what_the_lines_say(house: House) -> None:
    assert await house.answered("Ada", "dm", "think: hm\nsay: Good *morning*.") == "Good *morning*."
    kept = await house.one("SELECT output FROM thoughts")
    assert json.loads(kept["output"]) | {"confidence": 0} == {
        "inner_speech": "hm",
        "external_speech": "Good *morning*.",
        "epistemic_mode": "assert",
        "calls_for": "nothing",
        "confidence": 0,
    }


async def test_a_mention_is_obeyed_as_well(house: House) -> None:
    assert await house.answered("Ada", "general", "@soul say: here") == "here"


async def test_it_remembers_and_looks_up_before_it_speaks(house: House) -> None:
    await house.answered("Ada", "dm", "say: fine\nremember: the import runs at night")
    reply = await house.answered("Ada", "dm", "recall: the import")
    assert reply == "This is a rehearsal without a language model. Done as the lines say: recall."
    assert [prompt.step for prompt in house.prompts] == ["think", "think", "think"]
    assert "the import runs at night" in house.last_prompt()


async def test_a_thought_that_is_none_is_answered_in_words(house: House) -> None:
    reply = await house.answered("Ada", "dm", "raw: {]")
    assert "placeholder" in reply
    assert [prompt.step for prompt in house.prompts] == ["think", "think", "respond"]


async def test_what_it_means_to_do_comes_back_when_it_is_due(house: House) -> None:
    await house.answered("Ada", "dm", "say: fine\nintend: ask about the import by 2h")
    house.clock.turn(3 * 3_600)
    await house.idle()
    await house.answered("Ada", "dm", "say: hello")
    assert "you meant to do at" in house.last_prompt()
    assert "ask about the import" in house.last_prompt()


async def test_it_keeps_what_it_promised_when_it_is_due(house: House) -> None:
    await house.restart(name="tess", cycle_enabled=True, cycle_tokens_hour=100_000, quiet_hours="")
    assert "I'll come back to “the import”" in await house.answered(
        "Ada", "dm", "say: fine\nfollow up: the import by 2h"
    )
    house.clock.turn(2 * 3_600 + 1)
    assert said(await house.reply("D0ADA", "You wanted: the import")) == "You wanted: the import"
    assert (await house.one("SELECT state FROM goals"))["state"] == "done"


@pytest.mark.parametrize("when", ["2h", "30 min", "1d", "23:30", "9:00", "tomorrow 9:00", "in 2h"])
async def test_a_goal_is_due_by_a_span_or_a_time_of_day(house: House, when: str) -> None:
    await house.answered("Ada", "dm", f"say: fine\ngoal: the import by {when}")
    assert (await house.one("SELECT due_ms FROM goals"))["due_ms"] > house.clock.now_ms()


async def test_a_goal_is_due_by_a_date_with_a_time(house: House) -> None:
    day = datetime.fromtimestamp(house.clock.now_ms() / 1_000 + 3 * 86_400, UTC).date()
    await house.answered("Ada", "dm", f"say: fine\ngoal: the import by {day}T09:00")
    due = (await house.one("SELECT due_ms FROM goals"))["due_ms"]
    assert datetime.fromtimestamp(due / 1_000, ZoneInfo("Europe/Athens")).isoformat()[:16] == f"{day}T09:00"
