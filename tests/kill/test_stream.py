"""However a daemon is killed, the stream of thought of a conversation is one chain, and no answer is thought twice."""

from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from daemon.local_slack.deliveries import Retries
from daemon.local_slack.server import serve_workspace
from daemon.memory.database.driver import sqlite3
from tests import chance
from tests.kill.loop import Crowd, kill, nursery, run, until_dead
from tests.kill.scenes import SCENES, played
from tests.kill.verdict import judge, until_settled

KILLS = chance.tries(25, 300)
_THOUGHTS = "SELECT id, previous, conversation, trace_id FROM thoughts ORDER BY seq"
_RETRIES = Retries(deadline=0.5, schedule=(0.0, 0.3, 1.0))


def faults_of(home: Path) -> list[str]:
    """Thoughts that name another one than the one before them, and answers with more than one."""
    with closing(sqlite3.connect(home / "memory.db")) as connection:
        thoughts = connection.execute(_THOUGHTS).fetchall()
    faults, last = list[str](), dict[str, str]()
    for name, previous, conversation, _ in thoughts:
        if previous != last.get(conversation, ""):
            faults.append(f"{name} follows {previous}, not {last.get(conversation, '')}")
        last[conversation] = name
    thought = Counter((conversation, trace) for _, _, conversation, trace in thoughts)
    faults += [f"{one} was thought {times} times" for one, times in thought.items() if times > 1]
    return faults if thoughts else ["nothing was thought"]


@pytest.mark.timeout(600)
@pytest.mark.slow
async def test_the_chain_is_whole_after_kills_at_random_moments(tmp_path: Path) -> None:
    outcome = await run(tmp_path, kills=KILLS, events=KILLS, seed=chance.SEED, mind="cycle")
    print(outcome)
    assert outcome.faultless, outcome
    assert faults_of(tmp_path) == []


@pytest.mark.timeout(600)
@pytest.mark.slow
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
