"""A thread is handed over once and a question to a session answered once, wherever the daemon is killed."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kill.joined import Joined, joined

# Each with the points to kill a daemon at.
_SCENES: Final[dict[Callable[..., Coroutine[Any, Any, bool]], tuple[str, ...]]] = {
    Joined.hands_over: ("Commits.commit@before", "Commits.commit@after", "chat.postMessage@after"),
    Joined.asks: (
        *("Inbox.accept@after", "Commits.commit@before", "Commits.commit@after", "chat.postMessage@after"),
        *("SessionStore.take@before", "SessionStore.take@after"),
    ),
    Joined.hands_over_while_asked: (
        *("Commits.commit@before", "Commits.commit@after", "SessionStore.take@after", "chat.postMessage@after"),
    ),
    Joined.speaks_bound: (
        *("Inbox.accept@after", "Commits.commit@before", "Commits.commit@after", "SessionStore.take@after"),
    ),
}


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
@pytest.mark.parametrize("scene", _SCENES, ids=lambda scene: scene.__name__)
async def test_it_is_handed_over_asked_and_answered_once_wherever_the_daemon_is_killed(
    tmp_path: Path, scene: Callable[..., Coroutine[Any, Any, bool]]
) -> None:
    async with joined(tmp_path) as play:
        assert [place for place in _SCENES[scene] if not await scene(play, place)] == []
    print(play.harm)
    assert play.harm.faultless, play.harm
