"""When something is due, as models write it: spans, times, days with a time or alone, in English and German."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.timeframes import due_time
from daemon.core.timetable import FARTHEST_MS, InThePast

THURSDAY = "2026-11-26T14:30"  # 15:30 in Berlin
BERLIN = "Europe/Berlin"


def ms(utc: str) -> int:
    return int(datetime.fromisoformat(utc).replace(tzinfo=UTC).timestamp() * 1000)


NOW = ms(THURSDAY)


def due(said: str, now: str = THURSDAY) -> str:
    """Month, day and time in UTC."""
    return f"{datetime.fromtimestamp(due_time(said, ms(now), BERLIN) / 1000, UTC):%m-%d %H:%M}"


def check(table: Mapping[str, Sequence[str]]) -> None:
    """Each of these words is due at the time above it."""
    for expected, words in table.items():
        assert {said: due(said) for said in words} == dict.fromkeys(words, expected)


def test_days_times_and_ends_are_those_on_the_clock_of_the_person() -> None:
    check(
        {
            "11-26 15:30": ["today", "soon"],
            "11-26 16:30": ["in 2h", "two hours", "17:30", "by 17:30"],
            "11-26 17:00": ["tonight", "Thu 18:00", "heute Abend"],
            "11-27 08:00": ["2026-11-27T09:00", "tomorrow 9:00", "tomorrow at 9", "9am tomorrow", "tomorrow morning"],
            "11-27 09:00": ["2026-11-27T09:00+00:00"],
            "11-27 11:00": ["tomorrow", "by tomorrow, 12:00", "by Friday"],
            "11-27 13:00": ["14:00 on Friday"],
            "11-30 09:00": ["next Monday 10:00"],
            "12-01 09:30": ["Dienstag um 10:30"],
            "12-03 09:00": ["Thursday 10:00"],
            "12-03 14:30": ["next week"],
        }
    )
    check({"11-27 08:00": ["morgen um 9", "morgen um 9 Uhr"], "11-28 14:00": ["übermorgen Nachmittag"]})
    check(
        {
            "11-26 14:31": ["spätestens um 15:31 Uhr"],
            "11-26 15:45": ["before 4:45pm"],
            "11-26 16:00": ["by 5pm", "5pm", "5 PM", "by 5 p.m.", "um 17 Uhr"],
            "11-26 16:30": ["around 17:30", "17:30 Uhr", "um 17:30", "gegen 17:30", "bis 17.30 Uhr"],
            "11-26 17:00": ["in the evening", "this evening"],
            "11-26 23:00": ["12am", "by midnight", "bis 24 Uhr"],
            "11-27 08:00": ["until 9 am", "bis um 9 Uhr"],
            "11-27 11:00": ["12pm", "by noon", "gegen Mittag"],
            "11-27 14:00": ["at 3pm"],
            "11-27 14:30": ["um 15:30"],
            "11-27 16:00": ["morgen bis 17 Uhr", "tomorrow before 5pm", "tomorrow 5 p.m."],
        }
    )
    check(
        {
            "11-26 15:30": ["later today", "heute noch"],
            "11-26 16:00": ["by end of day", "by the end of the day", "end of today", "by EOD", "bis Feierabend"],
            "11-27 16:00": ["tomorrow EOD", "by end of day Friday", "by the end of the week", "this week"],
            "11-30 16:00": ["by end of month", "Monatsende"],
        }
    )
    check({"11-26 16:00": ["bis zum Ende des Tages"], "11-27 16:00": ["bis Ende der Woche"]})


def test_the_next_end_is_meant_and_clocks_that_change_are_kept_to() -> None:
    table = {
        ("2026-11-26T17:00", "by end of day"): "11-26 18:00",
        ("2026-11-26T17:00", "this evening"): "11-26 18:00",
        ("2026-11-27T16:00", "by end of week"): "12-04 16:00",
        ("2026-11-28T10:00", "this week"): "12-04 16:00",
        ("2026-11-30T17:00", "by end of month"): "12-31 16:00",
        ("2027-02-01T09:00", "by end of month"): "02-28 16:00",
    }
    assert {(now, said): due(said, now) for now, said in table} == table
    changed = {
        ("2027-03-27T23:00", "by 2:30am"): "03-28 01:30",  # a time that the clocks skip is an hour later
        ("2027-03-28T00:30", "um 4 Uhr"): "03-28 02:00",
        ("2027-03-27T20:00", "8pm"): "03-28 18:00",  # the day in between has 23 hours
        ("2026-10-24T22:00", "um 2:30"): "10-25 00:30",  # a time that they show twice is the first
        ("2026-10-25T00:45", "um 2:30"): "10-25 01:30",  # or the second, where that is still to come
        ("2026-10-24T17:00", "5pm"): "10-25 16:00",  # the day in between has 25 hours
    }
    assert {(now, said): due(said, now) for now, said in changed} == changed
    spans = {"by 2h": "11-26 16:30", "by 5h": "11-26 19:30", "a day": "11-27 14:30", "9:00 utc": "11-27 09:00"}
    assert {said: due(said) for said in spans} == spans


def test_a_span_may_be_half_an_hour_or_hours_and_a_half() -> None:
    table = {
        30: ["in half an hour", "half an hour", "within the next half hour", "in a half hour"],
        90: ["in an hour and a half", "in one and a half hours", "in 1.5 hours"],
        150: ["in 2½ hours", "in two and a half hours", "in zweieinhalb Stunden"],
    }
    german = {
        30: ["in einer halben Stunde", "eine halbe Stunde", "innerhalb einer halben Stunde"],
        90: ["in anderthalb Stunden", "in eineinhalb Stunden", "in 1,5 Stunden"],
    }
    for minutes, words in (*table.items(), *german.items()):
        for said in words:
            assert due_time(said, NOW, BERLIN) == NOW + minutes * 60_000, said


def test_what_is_no_time_is_refused_and_a_named_time_that_is_over_is_past() -> None:
    no_time = ["", "whenever", "tomorrow at 99", "tomorrow tomorrow", "by the by", "G1", "half", "half a goal"]
    for said in [*no_time, "by 25pm", "13pm", "um 25 Uhr", "by 5", "bis 12.10.", "within 5pm", "in 2:30"]:
        with pytest.raises(ValueError, match="is not a time"):
            pytest.fail(f"{said} is due {due(said)}")
    with pytest.raises(InThePast):
        due("today at 10:00")


_WORDS = (
    *("by", "at", "tomorrow", "today", "friday", "morgen", "9:00", "25:99", "9", "am", "pm", "uhr", "um", "gegen"),
    *("half", "an hour", "and a half", "halben stunde", "1,5", "this", "noon", "in", "2h", "week", "tonight", ","),
)


@given(
    st.lists(st.sampled_from(_WORDS), max_size=6).map(" ".join) | st.text(max_size=40),
    st.sampled_from(["", BERLIN, "no/zone"]),
)
def test_any_text_gives_a_time_within_a_year_or_a_refusal(said: str, zone: str) -> None:
    try:
        assert NOW < due_time(said, NOW, zone) <= NOW + FARTHEST_MS
    except ValueError as refused:
        assert str(refused)  # noqa: PT017 - either outcome is right
