"""A soul awakens once, wherever the daemon is killed on the way to its first thought."""

from pathlib import Path

import pytest

from tests import chance
from tests.kill.verdict import faults_of
from tests.kill.waking import run


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_a_soul_awakens_once_wherever_the_daemon_is_killed(tmp_path: Path) -> None:
    points = 3
    verdict = await run(tmp_path, most=points, seed=chance.SEED)
    print(verdict)
    assert not verdict.faults, str(verdict)
    assert faults_of(tmp_path) == []
    assert verdict.points >= points // 2
