"""What an event makes of the row of a session, by clocks that are wrong."""

from dataclasses import replace

from daemon.core.sessions import CodeSession, HookEvent, Lost, SessionState, Visibility, after
from daemon.shared.living_sessions import LEASE_MS, as_found

NOW = 1_700_000_000_000
YEAR = 365 * 86_400_000
FRESH = CodeSession("s1", "k1", "U0ADA", "T1", Visibility.PROJECT)


def heard(hook: str, sent_ms: int, received_ms: int) -> HookEvent:
    return HookEvent("e1", "s1", hook, sent_ms, 0, received_ms)


def met(received_ms: int) -> CodeSession:
    found = after(None, heard("SessionStart", NOW, received_ms), FRESH)
    assert found is not None
    return found


def test_an_event_counts_by_when_it_was_sent_whatever_our_clock_says() -> None:
    found = after(met(NOW + YEAR), heard("UserPromptSubmit", NOW + 1000, NOW + 1000), FRESH)
    assert found is not None
    assert (found.state, found.seen_ms) == (SessionState.WORKING, NOW + 1000)
    found = after(met(NOW + 30_000), heard("UserPromptSubmit", NOW - 1000, NOW), FRESH)
    assert found is not None
    assert (found.state, found.sent_ms) == (SessionState.IDLE, NOW)


def test_a_session_without_a_word_counts_as_living_for_an_hour_whatever_clock_heard_it() -> None:
    table = {
        NOW - LEASE_MS + 1000: (None, ""),
        NOW + 1000: (None, ""),
        NOW - LEASE_MS - 1000: (NOW - 1000, Lost.LEASE),
        NOW + YEAR: (NOW, Lost.LEASE),
    }
    for seen_ms, ended in table.items():
        found = as_found(replace(met(NOW), seen_ms=seen_ms), NOW)
        assert (found.ended_ms, found.reason) == ended
