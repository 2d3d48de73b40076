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


@pytest.mark.parametrize(
    ("said", "due"),
    [
        ("by 5pm", "26 16:00"),
        ("5pm", "26 16:00"),
        ("5 PM", "26 16:00"),
        ("by 5 p.m.", "26 16:00"),
        ("before 4:45pm", "26 15:45"),
        ("at 3pm", "27 14:00"),
        ("until 9 am", "27 08:00"),
        ("12am", "26 23:00"),
        ("12pm", "27 11:00"),
        ("around 17:30", "26 16:30"),
        ("17:30 Uhr", "26 16:30"),
        ("um 17:30", "26 16:30"),
        ("gegen 17:30", "26 16:30"),
        ("bis 17.30 Uhr", "26 16:30"),
        ("um 17 Uhr", "26 16:00"),
        ("bis um 9 Uhr", "27 08:00"),
        ("spätestens um 15:31 Uhr", "26 14:31"),
        ("um 15:30", "27 14:30"),
        ("by noon", "27 11:00"),
        ("by midnight", "26 23:00"),
        ("bis 24 Uhr", "26 23:00"),
        ("gegen Mittag", "27 11:00"),
        ("in the evening", "26 17:00"),
        ("this evening", "26 17:00"),
        ("morgen bis 17 Uhr", "27 16:00"),
        ("tomorrow before 5pm", "27 16:00"),
        ("tomorrow 5 p.m.", "27 16:00"),
    ],
)
def test_a_time_of_day_alone_is_the_next_one_on_the_clock_of_the_person(said: str, due: str) -> None:
    assert f"{datetime.fromtimestamp(due_time(said, NOW, BERLIN) / 1000, UTC):%d %H:%M}" == due


@pytest.mark.parametrize(
    ("said", "due"),
    [
        ("by end of day", "26 16:00"),
        ("by the end of the day", "26 16:00"),
        ("end of today", "26 16:00"),
        ("by EOD", "26 16:00"),
        ("bis zum Ende des Tages", "26 16:00"),
        ("bis Feierabend", "26 16:00"),
        ("later today", "26 15:30"),
        ("heute noch", "26 15:30"),
        ("tomorrow EOD", "27 16:00"),
        ("by end of day Friday", "27 16:00"),
        ("by the end of the week", "27 16:00"),
        ("this week", "27 16:00"),
        ("bis Ende der Woche", "27 16:00"),
        ("by end of month", "30 16:00"),
        ("Monatsende", "30 16:00"),
    ],
)
def test_a_day_a_week_and_a_month_end_with_the_work(said: str, due: str) -> None:
    assert f"{datetime.fromtimestamp(due_time(said, NOW, BERLIN) / 1000, UTC):%d %H:%M}" == due


@pytest.mark.parametrize(
    ("now", "said", "due"),
    [
        ("2026-11-26T17:00", "by end of day", "2026-11-26 18:00"),
        ("2026-11-26T17:00", "this evening", "2026-11-26 18:00"),
        ("2026-11-27T16:00", "by end of week", "2026-12-04 16:00"),
        ("2026-11-28T10:00", "this week", "2026-12-04 16:00"),
        ("2026-11-30T17:00", "by end of month", "2026-12-31 16:00"),
        ("2027-02-01T09:00", "by end of month", "2027-02-28 16:00"),
    ],
)
def test_where_the_work_is_over_the_next_end_is_meant_and_of_today_an_hour_from_now(
    now: str, said: str, due: str
) -> None:
    now_ms = int(datetime.fromisoformat(now).replace(tzinfo=UTC).timestamp() * 1000)
    assert f"{datetime.fromtimestamp(due_time(said, now_ms, BERLIN) / 1000, UTC):%Y-%m-%d %H:%M}" == due


@pytest.mark.parametrize(
    ("said", "minutes"),
    [
        ("in half an hour", 30),
        ("half an hour", 30),
        ("within the next half hour", 30),
        ("in a half hour", 30),
        ("in an hour and a half", 90),
        ("in one and a half hours", 90),
        ("in 1.5 hours", 90),
        ("in 2½ hours", 150),
        ("in two and a half hours", 150),
        ("in einer halben Stunde", 30),
        ("eine halbe Stunde", 30),
        ("innerhalb einer halben Stunde", 30),
        ("in anderthalb Stunden", 90),
        ("in eineinhalb Stunden", 90),
        ("in zweieinhalb Stunden", 150),
        ("in 1,5 Stunden", 90),
    ],
)
def test_a_span_may_be_half_an_hour_or_hours_and_a_half(said: str, minutes: int) -> None:
    assert due_time(said, NOW, BERLIN) == NOW + minutes * 60_000


@pytest.mark.parametrize(
    ("now", "said", "due"),
    [
        ("2027-03-27T23:00", "by 2:30am", "28 01:30"),  # a time that the clocks skip is an hour later
        ("2027-03-28T00:30", "um 4 Uhr", "28 02:00"),
        ("2027-03-27T20:00", "8pm", "28 18:00"),  # the day in between has 23 hours
        ("2026-10-24T22:00", "um 2:30", "25 00:30"),  # a time that they show twice is the first
        ("2026-10-25T00:45", "um 2:30", "25 01:30"),  # or the second, where that is still to come
        ("2026-10-24T17:00", "5pm", "25 16:00"),  # the day in between has 25 hours
    ],
)
def test_a_time_of_day_keeps_to_the_clock_on_days_on_which_it_is_changed(now: str, said: str, due: str) -> None:
    now_ms = int(datetime.fromisoformat(now).replace(tzinfo=UTC).timestamp() * 1000)
    assert f"{datetime.fromtimestamp(due_time(said, now_ms, BERLIN) / 1000, UTC):%d %H:%M}" == due


@pytest.mark.parametrize(
    ("said", "due"), [("by 2h", "26 16:30"), ("by 5h", "26 19:30"), ("a day", "27 14:30"), ("9:00 utc", "27 09:00")]
)
def test_what_was_a_span_or_had_a_zone_stays_one(said: str, due: str) -> None:
    assert f"{datetime.fromtimestamp(due_time(said, NOW, BERLIN) / 1000, UTC):%d %H:%M}" == due


@pytest.mark.parametrize(
    "said",
    [
        *("", "whenever", "tomorrow at 99", "tomorrow tomorrow", "by the by", "G1"),
        *("by 25pm", "13pm", "um 25 Uhr", "by 5", "bis 12.10.", "within 5pm", "in 2:30", "half", "half a goal"),
    ],
)
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
        "pm",
        "uhr",
        "um",
        "gegen",
        "half",
        "an hour",
        "and a half",
        "halben stunde",
        "1,5",
        "this",
        "noon",
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
