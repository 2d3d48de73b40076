"""The file of a reply is sent once, wherever the daemon is killed on the way to it."""

from pathlib import Path

import pytest

from tests import chance
from tests.kill.files import SHARING, run


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_the_file_of_a_reply_is_sent_once_wherever_the_daemon_is_killed(tmp_path: Path) -> None:
    verdict = await run(tmp_path, most=6, seed=chance.SEED)
    print(verdict)
    assert (verdict.lost, verdict.doubled) == (0, 0), str(verdict)
    assert verdict.points >= len(SHARING) - 2, "points of the sharing were missed"
