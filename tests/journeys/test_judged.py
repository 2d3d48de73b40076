"""A model judges what no rule decides, where the soul's folder wants it: once, within budget, reported apart."""

import json

import pytest

from tests.given import shown
from tests.journeys.house import House
from tests.journeys.souls import write_soul
from tests.journeys.thinking import CANARY, expecting
from tests.journeys.ticking import NEVER_QUIET, counted, musing, spoken_to

HOUR = 3_600
JUDGE = "\n[cycle]\njudge = true\n"
SCORED = "SELECT 1 FROM predictions WHERE scored_by = 'judge'"
ENDED = "SELECT state, scored_by, surprise, judged_ms FROM predictions"
DEMO = expecting("the quokka demo pleases them", 0.9, "in 2h")


async def hated(house: House, more: str = JUDGE) -> House:
    """A soul that thinks by itself, and people who hated the demo that was to please them."""
    await musing(house, more)
    await spoken_to(house, "the demo is at ten", predictions=[DEMO])
    house.clock.turn(HOUR)
    await spoken_to(house, "they hated it")
    return house


async def over(house: House) -> None:
    """Let the time of what was expected be over, and two looks of the judge pass."""
    house.clock.turn(2 * HOUR + 5)
    await house.no_row("SELECT 1 FROM predictions WHERE state = 'open'")
    for _ in range(2):
        house.clock.turn(61)
        await house.idle()


def asked_of(house: House) -> list[str]:
    """The prompts of the judge."""
    return [shown(one) for one in house.prompts if one.step == "judge"]


async def test_a_verdict_is_given_by_what_was_said_and_reported_apart(empty_house: House) -> None:
    house = await hated(empty_house)
    house.model.steps["judge"].append('{"came": "no"}')
    await over(house)
    await house.row(SCORED)
    (prompt,) = asked_of(house)
    assert "the quokka demo pleases them" in prompt
    assert "they hated it" in prompt
    assert not [one for one in (CANARY, "the demo is at ten", "90%", "0.9") if one in prompt]
    assert tuple(await house.one("SELECT state, surprise FROM predictions")) == ("miss", None)
    found = json.loads(await house.command("calibration", "--json", env={"SOUL_NAME": "tess"}))
    assert (found["judged"], found["scored"], found["unresolved"]) == (1, 0, 0)
    assert not await house.rows("SELECT 1 FROM prediction_sums")
    assert await counted(house) == {}
    await spoken_to(house, "what now?")
    assert "the quokka demo pleases them" not in shown(house.prompts[-1])
    ticks = "SELECT tick FROM llm_calls WHERE step = 'judge'"

    await house.row(ticks)  # a moment after the score
    assert (await house.one(ticks))["tick"] == 1


async def test_without_the_setting_no_one_judges(empty_house: House) -> None:
    house = await hated(empty_house, "")
    await over(house)
    assert asked_of(house) == []
    assert tuple(await house.one(ENDED)) == ("unresolved", "rule", None, None)


@pytest.mark.parametrize(
    "answers", [["hm", '{"came": "maybe"}'], pytest.param(['{"came": "unknown"}'], marks=pytest.mark.slow)]
)
async def test_no_verdict_or_no_form_leaves_it_undecided_unasked_again(empty_house: House, answers: list[str]) -> None:
    house = await hated(empty_house)
    house.model.steps["judge"] += answers
    await over(house)
    await house.row("SELECT 1 FROM predictions WHERE judged_ms")
    await house.when(lambda: _so_many(house, len(answers)))
    house.clock.turn(HOUR)
    await house.idle()
    assert len(asked_of(house)) == len(answers)
    row = await house.one(ENDED)
    assert (row["state"], row["scored_by"]) == ("unresolved", "rule")


async def _so_many(house: House, calls: int) -> bool:
    return len(asked_of(house)) == calls


async def test_where_nothing_was_said_since_no_model_is_asked(empty_house: House) -> None:
    house = empty_house
    await musing(house, JUDGE)
    await spoken_to(house, "the demo is at ten", predictions=[DEMO])
    await over(house)
    await house.row("SELECT 1 FROM predictions WHERE judged_ms")
    assert asked_of(house) == []


async def test_without_a_budget_it_waits_for_one(empty_house: House) -> None:
    house = await hated(empty_house, f"{JUDGE}tokens_hour = 100\n")
    await over(house)
    await house.events.until("prediction.put_off")
    assert asked_of(house) == []
    assert (await house.one(ENDED))["judged_ms"] is None
    await house.stop()
    write_soul(house.settings.home, more=f'mind = "cycle"\nsubprocesses = []\n{JUDGE}')
    house.model.steps["judge"].append('{"came": "yes"}')
    await house.start(**NEVER_QUIET)
    await house.row(SCORED)
