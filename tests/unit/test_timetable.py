"""Times and crontabs have their usual meaning; any other text is refused with a message."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.timeframes import time_in
from daemon.core.timetable import (
    FARTHEST_MS,
    OFTENEST_MS,
    InThePast,
    moment,
    moment_in,
    next_slot,
    platform_time,
    require_seldom,
    when,
)

NOW = 1_750_000_000_000  # Sunday, 15 June 2025, 15:06:40 UTC


def test_a_time_means_what_it_says_on_the_clock_of_its_author() -> None:
    for text, due in (
        ("in 20m", "2025-06-15 15:26:40"),
        ("20 minutes", "2025-06-15 15:26:40"),
        ("in 2h30m", "2025-06-15 17:36:40"),
        (" IN 1 hour 5 min ", "2025-06-15 16:11:40"),
        ("3 days", "2025-06-18 15:06:40"),
        ("1w", "2025-06-22 15:06:40"),
        ("PT20M", "2025-06-15 15:26:40"),
        ("p1dt2h", "2025-06-16 17:06:40"),
        ("P2W", "2025-06-29 15:06:40"),
        ("17:30", "2025-06-15 17:30:00"),
        ("at 9:05", "2025-06-16 09:05:00"),
        ("15:06 UTC", "2025-06-16 15:06:00"),
        ("2026-03-01T09:00+01:00", "2026-03-01 08:00:00"),
        ("at 2025-06-16 00:00Z", "2025-06-16 00:00:00"),
    ):
        assert moment(when(text, NOW)) == due
    for words, now, zone, due in (
        ("2026-03-02T09:00", "2026-03-01T12:00Z", "Europe/Berlin", "2026-03-02T08:00Z"),
        ("2026-03-29T09:00", "2026-03-28T12:00Z", "Europe/Berlin", "2026-03-29T07:00Z"),  # summer time began at night
        ("2026-03-29T02:30", "2026-03-28T12:00Z", "Europe/Berlin", "2026-03-29T01:30Z"),  # skipped: an hour later
        ("2026-10-25T02:30", "2026-10-24T12:00Z", "Europe/Berlin", "2026-10-25T00:30Z"),  # shown twice: the first
        ("2026-10-25T02:30", "2026-10-25T00:45Z", "Europe/Berlin", "2026-10-25T01:30Z"),  # the first is over
        ("09:00", "2026-03-01T12:00Z", "America/New_York", "2026-03-01T14:00Z"),
        ("09:00", "2026-03-01T15:00Z", "America/New_York", "2026-03-02T14:00Z"),
        ("2026-03-02T09:00Z", "2026-03-01T12:00Z", "Asia/Tokyo", "2026-03-02T09:00Z"),  # it names its own zone
        ("17:30 utc", "2026-03-01T12:00Z", "Asia/Tokyo", "2026-03-01T17:30Z"),
    ):
        assert moment(when(words, at(now), zone)) == moment(at(due))


def test_text_that_is_no_time_is_refused_with_a_message() -> None:
    for text, message in (
        ("", "is not a time"),
        ("soon", "is not a time"),
        ("20", "is not a time"),
        ("5 months", "is not a time"),
        ("24:00", "is not a time"),
        ("-20m", "is not a time"),
        ("\uff110m", "is not a time"),
        ("P", "is not a time"),
        ("P1DT", "is not a time"),
        ("2026-02-30T09:00Z", "is not a time"),
        ("2026-03-01T09:00", "has no zone"),
        ("2026-03-01", "has no zone"),
        ("in 0m", "is not in the future"),
        ("2025-06-15T15:06:40Z", "is not in the future"),
        ("367 days", "more than a year ahead"),
        ("999999999w 999999999w", "more than a year ahead"),
        ("9999-12-31T23:59:59-23:59", "more than a year ahead"),
        ("0001-01-01T00:00+23:59", "is not in the future"),
    ):
        with pytest.raises(ValueError, match=message) as refusal:
            when(text, NOW)
        assert len(str(refusal.value)) < 160, text
        assert "\n" not in str(refusal.value), text
    for text in ("0001-01-01", "0001-01-01T00:00"):
        with pytest.raises(InThePast):
            when(text, NOW, "Europe/Berlin")


@given(
    text=st.text() | st.from_regex(r"\A(in |at )?[0-9PTWDHMSwdhms:+\-.Z ]{0,25}\Z"),
    every=st.text(alphabet="0123456789*/,- lastmonfri", max_size=30),
)
def test_any_text_is_a_time_within_a_year_or_refused(text: str, every: str) -> None:
    with suppress(ValueError):
        assert NOW < when(text, NOW) <= NOW + FARTHEST_MS
    with suppress(ValueError):
        assert NOW <= next_slot(every, NOW) <= NOW + FARTHEST_MS


@given(ahead=st.integers(1_000, FARTHEST_MS).map(lambda ms: ms // 1000 * 1000), offset=st.integers(-23 * 60, 23 * 60))
def test_a_time_with_a_zone_is_the_same_moment_everywhere(ahead: int, offset: int) -> None:
    there = datetime.fromtimestamp((NOW + ahead) / 1000, timezone(timedelta(minutes=offset)))
    assert when(there.isoformat(), NOW) == NOW + ahead


def test_a_crontab_counts_as_crontabs_do_and_what_is_none_or_too_frequent_is_refused() -> None:
    for every, slot in (
        ("0 9 * * *", "Mon 2025-06-16 09:00"),
        ("30 15 * * *", "Sun 2025-06-15 15:30"),
        ("0 9 * * 1-5", "Mon 2025-06-16 09:00"),
        ("0 9 * * mon-fri", "Mon 2025-06-16 09:00"),
        ("0 9 * * 6", "Sat 2025-06-21 09:00"),
        ("0 9 * * 0", "Sun 2025-06-22 09:00"),
        ("0 9 * * 7", "Sun 2025-06-22 09:00"),
        ("0 9 * * */2", "Tue 2025-06-17 09:00"),
        ("0 9 * * 3/2", "Wed 2025-06-18 09:00"),
        ("0 9 * * 2,4", "Tue 2025-06-17 09:00"),
        ("0 0 1 * *", "Tue 2025-07-01 00:00"),
        ("0 0 1 6 *", "Mon 2026-06-01 00:00"),
        ("*/20 * * * *", "Sun 2025-06-15 15:20"),
    ):
        found = next_slot(every, NOW)
        assert f"{datetime.fromtimestamp(found / 1000, UTC):%a %Y-%m-%d %H:%M}" == slot, every
        assert next_slot(every, found) == found
        require_seldom(every, NOW)
    require_seldom("0 0 29 2 *", 1_830_000_000_000)  # December 2027: 2028 has a 29 February
    for every, message in (
        ("", "needs minute, hour"),
        ("0 9 * *", "needs minute, hour"),
        ("60 * * * *", "is no crontab"),
        ("0 9 * * 8", "is no crontab"),
        ("0 9 * * 5-1", "run backwards"),
        ("x y z a *", "is no crontab"),
        ("*/0 * * * *", "is no crontab"),
        ("0 0 30 2 *", "has no slot"),
        ("0 0 29 2 *", "has no slot"),
        ("0 9 1 * 1", "give one of them"),
    ):
        with pytest.raises(ValueError, match=message):
            next_slot(every, NOW)
    for every in ("* * * * *", "*/14 * * * *", "0,55 0,23 * * *", "0 0,1-23 * * *", "7,23 4 * * 1"):
        slots = [next_slot(every, NOW)]
        for _ in range(50):
            slots.append(next_slot(every, slots[-1] + 1))
        gaps = [after - before for before, after in pairwise(slots)]
        if min(gaps) < OFTENEST_MS:
            with pytest.raises(ValueError, match="less than 15 minutes apart"):
                require_seldom(every, NOW)
        else:
            require_seldom(every, NOW)


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def test_a_moment_is_written_on_the_clock_of_its_reader() -> None:
    assert moment_in(at("2026-03-01T09:00Z"), "Europe/Berlin") == "Sunday, 2026-03-01 10:00 (Europe/Berlin)"
    for ms in (2**62, -(2**62)):
        assert time_in(ms, "Pacific/Kiritimati").endswith("(Pacific/Kiritimati)")
    assert platform_time(1_750_000_000_042) == "1750000000.042000"
    assert platform_time(1_750_000_000_000) == "1750000000.000000"
    for zone in ("", "Mars/Olympus", "../etc/passwd", "x" * 300, "Europe"):
        assert moment_in(at("2026-03-01T09:00Z"), zone) == "Sunday, 2026-03-01 09:00 (UTC)"
        with pytest.raises(ValueError, match="has no zone"):
            when("2026-03-02T09:00", at("2026-03-01T12:00Z"), zone)
