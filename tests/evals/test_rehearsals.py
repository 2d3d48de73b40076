"""Each shipped scenario, played with its own sample answers: the right ones pass, the wrong ones score as wrong."""

import asyncio

import pytest

from daemon.core.telemetry import Telemetry
from evals.play import Limits, play
from evals.run import missed_faults
from evals.scenario import FOLDER, load_scenarios
from evals.script import scripted
from evals.seen import Check, Played
from tests.evals.inside import MODEL, launch_inside
from tests.fakes import TIMEOUT

SCENARIOS = {one.name: one for one in load_scenarios(FOLDER)}


async def rehearsed(name: str, *, wrong: bool) -> Played:
    async with scripted(SCENARIOS[name], MODEL, wrong=wrong) as (model, script):
        return await play(SCENARIOS[name], model, Limits(TIMEOUT), launch=launch_inside, on_turn=script.begin)


def failed(played: Played) -> list[Check]:
    return [check for check in played.all_checks if not check.passed]


def test_there_are_forty_of_them_and_eight_languages() -> None:
    assert len(SCENARIOS) >= 40
    spoken = {turn.expect.language for one in SCENARIOS.values() for turn in one.turns}
    assert len(spoken - {None}) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
async def test_right_answers_pass_and_wrong_ones_score_as_wrong_where_the_scenario_says_so(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Telemetry, "install", lambda _: lambda: None)  # two daemons in one process: logging stays
    async with asyncio.TaskGroup() as group:
        plays = [group.create_task(rehearsed(name, wrong=wrong)) for wrong in (False, True)]
    right, wrong = (play.result() for play in plays)
    assert (right.broke_off, wrong.broke_off) == ("", "")
    assert failed(right) == []
    assert missed_faults(wrong) == ()
