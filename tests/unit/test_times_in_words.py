"""Texts that every room shares, and times of a thought as a person would say them."""

from daemon.core.http import is_loopback
from daemon.core.tempo import span_in_words
from daemon.core.text import one_line, quoted, shortened, storable, visible_line
from daemon.core.working_memory import estimate_tokens
from daemon.mind.recall.mood import day_in_words
from daemon.mind.thought.cognitive_output import TemporalContext
from daemon.mind.thought_input import time_in_words

NOON = 1_750_000_000_000 - 1_750_000_000_000 % 86_400_000 + 12 * 3_600_000


def test_times_are_told_as_a_person_would_say_them_and_texts_are_storable_visible_and_short() -> None:
    for seconds, said in (
        (-3, "0.0 seconds"),
        (4.2, "4.2 seconds"),
        (60, "1 minute"),
        (750, "12 minutes"),
        (1e6, "11 days"),
    ):
        assert span_in_words(seconds) == said
    for seconds, said in (
        (12 * 60, "12 minutes"),
        (3 * 3_600 + 12 * 60 + 5, "3 hours and 12 minutes"),
        (86_400 + 60, "1 day"),
        (86_400 + 3_600, "1 day and 1 hour"),
    ):
        assert span_in_words(seconds, units=2) == said
    for when, zone, said in (
        (NOON - 60_000, "UTC", "today, 11:59 AM"),
        (NOON - 86_400_000 + 194 * 60_000, "UTC", "yesterday, 3:14 PM"),
        (NOON - 12 * 3_600_000, "UTC", "today, 12:00 AM"),
        (NOON - 12 * 3_600_000, "America/New_York", "yesterday, 8:00 PM"),
        (NOON - 3 * 86_400_000, "nowhere", "2025-06-12, 12:00 PM"),
    ):
        assert day_in_words(when, NOON, zone) == said
    for time, silence, said in (
        (TemporalContext(time_of_day="night"), "", ""),
        (TemporalContext(time_since_last_thought="4.2 seconds"), "", "Your last thought here was 4.2 seconds ago."),
        (TemporalContext(interactions_this_session=1), "", "In this visit there was 1 reply of yours."),
        (
            TemporalContext(session_duration="12 minutes", interactions_this_session=3),
            "a silence of 2 hours",
            "This visit has lasted 12 minutes, with 3 replies of yours. These words end a silence of 2 hours.",
        ),
    ):
        assert time_in_words(time, silence) == said
    span = "1000 minutes"
    longest = TemporalContext(time_since_last_thought=span, session_duration=span, interactions_this_session=1_000)
    assert estimate_tokens(time_in_words(longest, f"a silence of {span}")) <= 42
    assert storable("a\ud83d\ude00b\ud800") == "a😀b�"
    assert storable("\ufeffplain") == "\ufeffplain"
    assert one_line("  a\n\tb ") == "a b"
    assert visible_line("e\u0301\u202e\n x\x00") == "é x"
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abc def", 5) == "abc…"
    assert quoted("a\nb") == "“a b”"
    for host, loopback in (
        *(("127.0.0.1", True), ("127.0.0.2", True), ("::1", True), ("localhost", True), ("model.localhost", True)),
        *(("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("slack.com", False), ("", False)),
    ):
        assert is_loopback(host) is loopback
