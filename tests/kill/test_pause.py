"""A daemon that is stopped for longer than its lease can neither commit nor post when it wakes up (P26)."""

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest

from daemon.workspace.deliveries import Retries
from daemon.workspace.server import serve_workspace
from tests.kill.loop import Crowd, judge, kill, nursery, until_dead, until_settled

PAUSES = 16
LEASE = 0.8
_RETRIES = Retries(deadline=0.5, schedule=(0.0, 0.3, 1.0))


@pytest.mark.timeout(300)
async def test_of_two_daemons_one_paused_past_its_lease_nothing_is_said_twice(tmp_path: Path) -> None:
    dice = random.Random(26)
    async with serve_workspace(retries=_RETRIES) as workspace, nursery(tmp_path, workspace) as daemons:
        crowd = Crowd(workspace, 26)
        pair = [await daemons.spawn(pace=pace, lease=LEASE) for pace in (0.0, 0.01)]
        crowd.speak()
        await until_settled(tmp_path, workspace, crowd.said)
        for number in range(PAUSES):
            paused = pair[number % 2]
            for _ in range(3):
                crowd.speak()
            await asyncio.sleep(dice.uniform(0, 0.05))
            os.kill(paused, signal.SIGSTOP)
            await asyncio.sleep(LEASE * 1.3)  # real time: what is paused is a real process
            os.kill(paused, signal.SIGCONT)
        await until_settled(tmp_path, workspace, crowd.said)
        outcome = judge(tmp_path, workspace, crowd.said, PAUSES)
        for pid in pair:
            kill(pid)
            await until_dead(pid)
    print(outcome)
    assert (outcome.lost, outcome.duplicated, outcome.reported, outcome.integrity) == (0, 0, 0, "ok")
