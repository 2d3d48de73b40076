"""Every accepted event is answered exactly once, whatever kills the daemon and whenever."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from daemon.workspace.deliveries import Retries
from daemon.workspace.server import WorkspaceServer, serve_workspace
from tests.kill.loop import Crowd, Nursery, judge, kill, nursery, run, until_dead, until_settled

KILLS = EVENTS = 300
_LEASE = 1.0  # seconds; short enough that every slow reply renews its claim, so that this too is a point to die at
_RETRIES = Retries(deadline=0.5, schedule=(0.0, 0.3, 1.0))


@pytest.mark.timeout(600)
async def test_nothing_is_lost_or_doubled_by_kills_at_random_moments(tmp_path: Path) -> None:
    outcome = await run(tmp_path, kills=KILLS, events=EVENTS, seed=20261121)
    print(outcome)
    assert (outcome.lost, outcome.duplicated, outcome.reported, outcome.integrity) == (0, 0, 0, "ok")


async def _until_died(pid: int, seconds: float) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await until_dead(pid)
            return True
    return False


async def _places(home: Path, workspace: WorkspaceServer, daemons: Nursery) -> list[str]:
    """Every commit and every request that a daemon passes from its start over two replies, one streamed, to the end."""
    passed = home / "passed"
    crowd = Crowd(workspace, 1)
    for pace in (0.0, 0.01):
        pid = await daemons.spawn(passed=str(passed), pace=pace, lease=_LEASE)
        crowd.speak()
        await until_settled(home, workspace, crowd.said)
        kill(pid)
        await until_dead(pid)
    return sorted(set(passed.read_text().split()))


@pytest.mark.timeout(600)
async def test_nothing_is_lost_or_doubled_by_a_kill_at_any_named_point(tmp_path: Path) -> None:
    async with serve_workspace(retries=_RETRIES) as workspace, nursery(tmp_path, workspace) as daemons:
        places = await _places(tmp_path, workspace, daemons)
        assert {"Commits.commit@after", "chat.stopStream@before", "chat.postMessage@after"} <= set(places)
        crowd, died = Crowd(workspace, 2), list[str]()
        for place in places:
            for pace in (0.0, 0.01):
                pid = await daemons.spawn(crash=place, passed=str(tmp_path / "passed"), pace=pace, lease=_LEASE)
                crowd.speak()
                died += [place] if await _until_died(pid, 2.5) else []
                kill(pid)
                await until_dead(pid)
        last = await daemons.spawn()
        await until_settled(tmp_path, workspace, crowd.said)
        outcome = judge(tmp_path, workspace, crowd.said, len(died))
        kill(last)
        await until_dead(last)
    print(f"{outcome} points={len(set(died))}/{len(places)}")
    assert set(died) == set(places)
    assert (outcome.lost, outcome.duplicated, outcome.reported, outcome.integrity) == (0, 0, 0, "ok")


async def test_the_checker_catches_a_daemon_that_sends_again_without_looking(tmp_path: Path) -> None:
    async with serve_workspace(retries=_RETRIES) as workspace, nursery(tmp_path, workspace) as daemons:
        crowd = Crowd(workspace, 3)
        pid = await daemons.spawn(crash="chat.postMessage@after", passed=str(tmp_path / "passed"), naive=True)
        crowd.speak()
        await until_dead(pid)
        last = await daemons.spawn(naive=True)
        await until_settled(tmp_path, workspace, crowd.said)
        outcome = judge(tmp_path, workspace, crowd.said, 1)
        kill(last)
        await until_dead(last)
    assert outcome.duplicated == 1
