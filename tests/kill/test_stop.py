"""A stopped reply ends, whichever daemon hears the stop, and wherever they are killed between the click and the end."""

from pathlib import Path

from tests import chance
from tests.kill.stop import run


async def test_nothing_is_visible_after_a_stop(tmp_path: Path) -> None:
    verdict = await run(tmp_path, rounds=8, kills=4, seed=chance.SEED)
    assert verdict.after_stop_visible == 0, str(verdict)
    assert (verdict.rounds, verdict.kills) == (8, 4)
