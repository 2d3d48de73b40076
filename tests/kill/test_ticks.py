"""What falls due is thought about once, wherever the daemon is killed on the way to it."""

from pathlib import Path

import pytest

from tests import chance
from tests.kill.ticks import run


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
@pytest.mark.parametrize("promised", [False, True])
async def test_a_goal_is_thought_about_once_wherever_the_daemon_is_killed(tmp_path: Path, promised: bool) -> None:
    points = 5
    verdict = await run(tmp_path, most=points, seed=chance.SEED, promised=promised)
    print(verdict)
    assert not verdict.faults, str(verdict)
    assert verdict.points >= points // 3
