"""However a daemon is killed, the stream of thought of a conversation is one chain, and no answer is thought twice."""

from pathlib import Path

import pytest

from tests import chance
from tests.kill.loop import CYCLE, run, stage
from tests.kill.scenes import SCENES, passed, played
from tests.kill.verdict import faults_of

KILLS = 25


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_the_chain_is_whole_after_kills_at_random_moments(tmp_path: Path) -> None:
    outcome = await run(tmp_path, kills=KILLS, events=KILLS, seed=chance.SEED, soul=CYCLE)
    print(outcome)
    assert outcome.faultless, outcome
    assert faults_of(tmp_path) == []


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_the_chain_is_whole_after_a_kill_at_each_commit_and_request(tmp_path: Path) -> None:
    plain = SCENES[0]
    async with stage(tmp_path, 2, soul=CYCLE) as on:
        places = await passed(plain, on)
        assert {"Commits.commit@before", "Commits.commit@after", "begin_noting@after"} <= set(places)
        cuts = sum([await played(plain, on, crash=place) for place in places])
        outcome = await on.settle(cuts)
    assert cuts >= len(places) // 2
    assert outcome.faultless, outcome
    assert faults_of(tmp_path) == []
