"""What is to be once is once, wherever the daemon is killed on the way to it."""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests import chance
from tests.kill.points import PointsFigure, files, nods, ticks, waking

# At how many points daemons are killed, and at how many of these one must have died at least.
_PLAYS: Final[dict[str, tuple[Callable[..., Awaitable[PointsFigure]], int, int]]] = {
    "the file of a reply is sent": (files, 6, 4),
    "a nod is given": (nods, 6, 4),
    "a goal is thought about": (ticks, 5, 1),
    "a promise is kept": (partial(ticks, promised=True), 5, 1),
    "a soul awakens": (waking, 3, 1),
}


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
@pytest.mark.parametrize("what", _PLAYS)
async def test_it_is_done_once_wherever_the_daemon_is_killed(tmp_path: Path, what: str) -> None:
    play, points, hit = _PLAYS[what]
    found = await play(tmp_path, points=points, seed=chance.SEED)
    print(found)
    assert found.faultless, str(found)
    assert found.points >= hit, "points were missed"
