"""Times of a thought as a person would say them."""

import pytest

from daemon.mind.recall.occasion import day_in_words, span_in_words

NOON = 1_750_000_000_000 - 1_750_000_000_000 % 86_400_000 + 12 * 3_600_000


@pytest.mark.parametrize(
    ("when", "zone", "said"),
    [
        (NOON - 60_000, "UTC", "today, 11:59 AM"),
        (NOON - 86_400_000 + 194 * 60_000, "UTC", "yesterday, 3:14 PM"),
        (NOON - 12 * 3_600_000, "UTC", "today, 12:00 AM"),
        (NOON - 12 * 3_600_000, "America/New_York", "yesterday, 8:00 PM"),
        (NOON - 3 * 86_400_000, "nowhere", "2025-06-12, 12:00 PM"),
    ],
)
def test_a_moment_is_named_by_the_day_of_the_person(when: int, zone: str, said: str) -> None:
    assert day_in_words(when, NOON, zone) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-3, "0.0 seconds"), (4.2, "4.2 seconds"), (60, "1 minute"), (750, "12 minutes"), (1e6, "11 days")],
)
def test_a_span_has_one_unit(seconds: float, said: str) -> None:
    assert span_in_words(seconds) == said
