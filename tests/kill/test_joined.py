"""A thread is handed over once and a question to a session answered once, wherever the daemon is killed."""

from pathlib import Path

import pytest

from tests.kill.joined import joined

HANDS_OVER = ("Commits.commit@before", "Commits.commit@after", "chat.postMessage@after")
WHILE_ASKED = ("Commits.commit@before", "Commits.commit@after", "SessionStore.take@after", "chat.postMessage@after")
BOUND = ("Inbox.accept@after", "Commits.commit@before", "Commits.commit@after", "SessionStore.take@after")
ASKS = (
    *("Inbox.accept@after", "Commits.commit@before", "Commits.commit@after", "chat.postMessage@after"),
    *("SessionStore.take@before", "SessionStore.take@after"),
)


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_a_thread_goes_to_another_soul_once_wherever_the_daemon_is_killed(tmp_path: Path) -> None:
    async with joined(tmp_path) as play:
        assert [place for place in HANDS_OVER if not await play.hands_over(place)] == []
    print(play.harm)
    assert play.harm.none, play.harm


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_a_session_is_asked_with_consent_and_answers_once_wherever_the_daemon_is_killed(tmp_path: Path) -> None:
    async with joined(tmp_path) as play:
        assert [place for place in ASKS if not await play.asks(place)] == []
    print(play.harm)
    assert play.harm.none, play.harm


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_an_answer_is_the_new_souls_to_say_once_wherever_the_daemon_is_killed(tmp_path: Path) -> None:
    async with joined(tmp_path) as play:
        assert [place for place in WHILE_ASKED if not await play.hands_over_while_asked(place)] == []
    print(play.harm)
    assert play.harm.none, play.harm


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_what_is_said_in_a_bound_thread_is_answered_once_wherever_the_daemon_is_killed(tmp_path: Path) -> None:
    async with joined(tmp_path) as play:
        assert [place for place in BOUND if not await play.speaks_bound(place)] == []
    print(play.harm)
    assert play.harm.none, play.harm
