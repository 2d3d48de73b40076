"""Nothing said in a DM, a private room, a session or a note leaves by sessions, contexts and notes (P39)."""

from types import SimpleNamespace

import pytest

from daemon.core.contexts import ContextState
from daemon.core.sessions import KeyOwner
from daemon.shared import asking as living_sessions
from daemon.shared.session_context import ContextDoor
from tests import chance
from tests.leaks.shared import play_shared

RECALL_OF_FEW = 0.7


async def test_nothing_leaks_by_rooms_contexts_sessions_and_notes() -> None:
    count = await play_shared(40, chance.SEED)
    print(count.line)
    assert not count.leaks
    assert count.recall >= RECALL_OF_FEW  # the figure `ways_out` asks for more of many


async def test_a_door_that_shows_every_context_and_hidden_session_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def knows(_: ContextDoor, owner: KeyOwner, found: ContextState) -> bool:
        return bool(owner and found)

    monkeypatch.setattr(ContextDoor, "_knows", knows)
    monkeypatch.setattr(living_sessions, "Visibility", SimpleNamespace(HIDDEN="none"))
    count = await play_shared(30, 1)
    print(count.line)
    for what in ("What.CONTEXT", "What.BRANCH", "What.PROJECT"):
        assert any(what in one for one in count.leaks), what


async def test_a_daemon_that_keeps_words_of_sessions_for_everybody_is_noticed() -> None:
    count = await play_shared(40, 1, talkative=True)
    print(count.line)
    assert any("What.SPOKEN" in one for one in count.leaks)
