"""A nod is given once, wherever the daemon is killed on the way to it."""

from pathlib import Path

import pytest

from tests import chance
from tests.kill.nods import NODDING, run


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_a_nod_is_given_once_wherever_the_daemon_is_killed(tmp_path: Path) -> None:
    verdict = await run(tmp_path, most=6, seed=chance.SEED)
    print(verdict)
    assert (verdict.lost, verdict.doubled) == (0, 0), str(verdict)
    assert verdict.points >= len(NODDING) - 2, "points of the nod were missed"
