"""When something is due, as models write it: spans, times, days with a time or alone, in English and German."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.timeframes import due_time
from daemon.core.timetable import FARTHEST_MS, InThePast

NOW = int(datetime(2026, 11, 26, 14, 30, tzinfo=UTC).timestamp() * 1000)  # a Thursday, 15:30 in Berlin
BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("said", "due"),
    [
        ("in 2h", "26 16:30"),
        ("two hours", "26 16:30"),
        ("17:30", "26 16:30"),
        ("by 17:30", "26 16:30"),
        ("2026-11-27T09:00", "27 08:00"),
        ("2026-11-27T09:00+00:00", "27 09:00"),
        ("tomorrow 9:00", "27 08:00"),
        ("tomorrow at 9", "27 08:00"),
        ("9am tomorrow", "27 08:00"),
        ("tomorrow morning", "27 08:00"),
        ("tomorrow", "27 11:00"),
        ("by tomorrow, 12:00", "27 11:00"),
        ("today", "26 15:30"),
        ("tonight", "26 17:00"),
        ("by Friday", "27 11:00"),
        ("next Monday 10:00", "30 09:00"),
        ("14:00 on Friday", "27 13:00"),
        ("Thu 18:00", "26 17:00"),
        ("Thursday 10:00", "03 09:00"),
        ("morgen um 9", "27 08:00"),
        ("morgen um 9 Uhr", "27 08:00"),
        ("übermorgen Nachmittag", "28 14:00"),
        ("Dienstag um 10:30", "01 09:30"),
        ("heute Abend", "26 17:00"),
        ("soon", "26 15:30"),
        ("next week", "03 14:30"),
    ],
)
def test_a_day_may_be_named_with_a_time_or_alone(said: str, due: str) -> None:
    found = due_time(said, NOW, BERLIN)
    assert f"{datetime.fromtimestamp(found / 1000, UTC):%d %H:%M}" == due


@pytest.mark.parametrize("said", ["", "whenever", "tomorrow at 99", "tomorrow tomorrow", "by the by", "G1"])
def test_what_is_no_time_is_refused(said: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        due_time(said, NOW, BERLIN)


def test_a_named_time_that_is_over_is_past() -> None:
    with pytest.raises(InThePast):
        due_time("today at 10:00", NOW, BERLIN)


_WORDS = st.sampled_from(
    [
        "by",
        "at",
        "tomorrow",
        "today",
        "friday",
        "morgen",
        "9:00",
        "25:99",
        "9",
        "am",
        "in",
        "2h",
        "week",
        "tonight",
        ",",
    ]
)


@given(st.lists(_WORDS, max_size=6).map(" ".join) | st.text(max_size=40), st.sampled_from(["", BERLIN, "no/zone"]))
def test_any_text_gives_a_time_within_a_year_or_a_refusal(said: str, zone: str) -> None:
    try:
        assert NOW < due_time(said, NOW, zone) <= NOW + FARTHEST_MS
    except ValueError as refused:
        assert str(refused)  # noqa: PT017 - either outcome is right
