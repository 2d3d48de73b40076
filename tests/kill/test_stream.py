"""However a daemon is killed, the stream of thought of a conversation is one chain, and no answer is thought twice."""

from pathlib import Path

import pytest

from daemon.local_slack.deliveries import Retries
from daemon.local_slack.server import serve_workspace
from tests import chance
from tests.kill.loop import Crowd, kill, nursery, run, until_dead
from tests.kill.scenes import SCENES, played
from tests.kill.verdict import faults_of, judge, until_settled

KILLS = 25
_RETRIES = Retries(deadline=0.5, schedule=(0.0, 0.3, 1.0))


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_the_chain_is_whole_after_kills_at_random_moments(tmp_path: Path) -> None:
    outcome = await run(tmp_path, kills=KILLS, events=KILLS, seed=chance.SEED, mind="cycle")
    print(outcome)
    assert outcome.faultless, outcome
    assert faults_of(tmp_path) == []


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_the_chain_is_whole_after_a_kill_at_each_commit_and_request(tmp_path: Path) -> None:
    plain, cuts = SCENES[0], 0
    async with serve_workspace(retries=_RETRIES) as workspace, nursery(tmp_path, workspace, mind="cycle") as daemons:
        crowd = Crowd(workspace, 2)
        await played(plain, tmp_path, daemons, crowd, tmp_path / "passed")
        passed = sorted(set((tmp_path / "passed").read_text(encoding="utf-8").split()))
        assert {"Commits.commit@before", "Commits.commit@after", "begin_noting@after"} <= set(passed)
        for place in passed:
            cuts += await played(plain, tmp_path, daemons, crowd, tmp_path / "again", crash=place)
        last = await daemons.spawn()
        await until_settled(tmp_path, workspace, crowd.said)
        outcome = judge(tmp_path, workspace, crowd.said, cuts)
        kill(last)
        await until_dead(last)
    assert cuts >= len(passed) // 2
    assert outcome.faultless, outcome
    assert faults_of(tmp_path) == []
