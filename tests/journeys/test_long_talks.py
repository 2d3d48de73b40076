"""A long conversation costs no more than a short one: a summary stands for its old messages."""

import pytest

from daemon.core.ports.models import ModelRole, Prompt
from daemon.llm.placeholder import placeholder_answer
from tests.given import shown, tokens
from tests.journeys.house import House
from tests.journeys.learning import brief_soul
from tests.models import Reply

_TURNS = 100


@pytest.mark.slow
async def test_a_hundred_turns_stay_within_the_tokens_of_thirty(house: House) -> None:
    async def placeholder(prompt: Prompt) -> Reply:
        return placeholder_answer(prompt)

    house.model.default = placeholder
    for number in range(_TURNS):
        await house.answered("Ada", "dm", f"turn {number}: " + "some words about the matter at hand, " * 6)
    spent = [tokens(prompt) for prompt in house.prompts if prompt.role is ModelRole.PERSONA]
    assert len(spent) == _TURNS
    assert spent[0] <= 3_000
    assert max(spent) <= 6_000
    assert max(spent[50:]) <= max(spent[:50]) * 1.05, "flat after the first half"
    summary = (await house.one("SELECT summary FROM working_memory"))["summary"]
    assert summary
    assert summary[:40] in house.last_prompt()
    assert len(await house.rows("SELECT * FROM turns")) == 2 * _TURNS, "turns are never thrown away"
    print(f"turns={_TURNS} tokens_first={spent[0]} tokens_last={spent[-1]} tokens_most={max(spent)}")


async def test_old_messages_are_known_by_the_summary_and_deleted_ones_are_not(empty_house: House) -> None:
    house = empty_house
    await brief_soul(house)
    gone = ""
    for number in range(12):
        ts = await house.say("Ada", "dm", f"remember factNumber{number} for me, will you, as long as you can?")
        gone = ts if number == 3 else gone
        await house.final_state(ts)
        await house.idle()
    kept = await house.one("SELECT summary, summarized_to FROM working_memory")
    assert kept["summarized_to"] > 3
    assert "factNumber0" in kept["summary"]
    assert "factNumber3" in kept["summary"]
    assert "factNumber3" in house.last_prompt()
    await house.people.delete("Ada", "dm", gone)
    await house.acknowledged()
    for number in range(2):
        before = len(house.prompts)
        await house.answered("Ada", "dm", f"and now, what is left? {number}")
        assert not any("factNumber3" in shown(prompt) for prompt in house.prompts[before:])
    kept = await house.one("SELECT summary FROM working_memory")
    assert "factNumber0" in kept["summary"]
    assert "factNumber3" not in kept["summary"]
    everything = str([tuple(row) for table in ("turns", "inbox") for row in await house.rows(f"SELECT * FROM {table}")])
    assert "factNumber3" not in everything
