"""What repeats is due once for each day it names, at the right local minute, whatever the clocks do there."""

import datetime as dt
import itertools
from functools import lru_cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from daemon.core.timetable import Every, Recurrence, recurrence_of

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAYS = 20
BEGINS = {  # each span has the end of a month
    "Europe/Berlin": "2025-03-20",
    "Europe/London": "2025-10-18",
    "America/New_York": "2025-02-25",
    "America/Santiago": "2025-08-25",  # clocks change at midnight
    "Australia/Lord_Howe": "2025-09-20",  # by half an hour
    "Asia/Kathmandu": "2024-02-20",  # never, in a leap year
    "Africa/Casablanca": "2025-02-15",
    "Pacific/Apia": "2011-12-20",  # left out 30 December 2011
    "UTC": "2026-12-20",
}
ZONES = tuple(BEGINS)


def ms(text: str, zone: str = "UTC") -> int:
    return int(dt.datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()) * 1000


def local(due_ms: int, zone: str) -> str:
    return f"{dt.datetime.fromtimestamp(due_ms / 1000, ZoneInfo(zone)):%Y-%m-%d %H:%M}"


@lru_cache
def minutes(zone: str) -> tuple[tuple[int, dt.datetime], ...]:
    """Every minute of DAYS days with what the clocks of the zone show then."""
    start, there = ms(BEGINS[zone]), ZoneInfo(zone)
    stamps = range(start, start + DAYS * 24 * HOUR_MS, MINUTE_MS)
    return tuple((at, dt.datetime.fromtimestamp(at / 1000, there).replace(tzinfo=None)) for at in stamps)


def shown_first(zone: str, hour: int, minute: int) -> dict[dt.date, int]:
    """For each day when its clocks show the time first, found minute by minute; of a skipped one the hour after it."""
    found: dict[dt.date, int] = {}
    for (_, before), (at, now) in itertools.pairwise(minutes(zone)):
        if (now.hour, now.minute) == (hour, minute):
            found.setdefault(now.date(), at)
        gap = now - before - dt.timedelta(minutes=1)
        if gap > dt.timedelta():  # the clocks were put forward
            for day in (before.date() + dt.timedelta(days=number) for number in range(3)):
                wanted = dt.datetime.combine(day, dt.time(hour, minute))
                if before < wanted < now:
                    found.setdefault(day, at + int((wanted - before).total_seconds() * 1000) - MINUTE_MS)
    return found


def is_named(rule: Recurrence, day: dt.date) -> bool:
    """Whether a rule names a day, reckoned without the daemon's own calendar."""
    last = (day + dt.timedelta(days=1)).month != day.month
    in_month = day.day == rule.day or (last and day.day < rule.day)
    return {
        Every.DAY: True,
        Every.WEEK: day.weekday() in rule.weekdays,
        Every.MONTH: in_month,
        Every.YEAR: in_month and day.month == rule.month,
        Every.HOURS: False,
    }[rule.every]


RULES = st.one_of(
    st.builds(
        Recurrence, every=st.just(Every.DAY), hour=st.integers(0, 23), minute=st.sampled_from((0, 1, 29, 30, 59))
    ),
    st.builds(
        Recurrence,
        every=st.just(Every.WEEK),
        hour=st.integers(0, 4),
        minute=st.sampled_from((0, 15, 30)),
        weekdays=st.frozensets(st.integers(0, 6), min_size=1),
    ),
    st.builds(Recurrence, every=st.just(Every.MONTH), hour=st.integers(0, 23), day=st.integers(1, 31)),
    st.builds(
        Recurrence, every=st.just(Every.YEAR), hour=st.just(9), month=st.sampled_from((2, 3, 12)), day=st.just(29)
    ),
)


@settings(max_examples=30)
@given(rule=RULES, zone=st.sampled_from(ZONES))
@example(rule=Recurrence(Every.DAY, 2, 30), zone="Europe/Berlin")
@example(rule=Recurrence(Every.DAY, 1, 30), zone="Europe/London")
@example(rule=Recurrence(Every.DAY, 0, 0), zone="America/Santiago")
@example(rule=Recurrence(Every.DAY, 2, 15), zone="Australia/Lord_Howe")
@example(rule=Recurrence(Every.DAY, 9, 0), zone="Pacific/Apia")
@example(rule=Recurrence(Every.MONTH, 9, 0, day=31), zone="Asia/Kathmandu")
@example(rule=Recurrence(Every.MONTH, 0, 0, day=31), zone="Pacific/Apia")  # the 30th is skipped there
def test_each_named_day_has_the_one_slot_that_a_walk_through_every_minute_finds(rule: Recurrence, zone: str) -> None:
    shown = shown_first(zone, rule.hour, rule.minute)
    start = ms(BEGINS[zone]) + 2 * 24 * HOUR_MS
    end = ms(BEGINS[zone]) + (DAYS - 2) * 24 * HOUR_MS
    expected = sorted({at for day, at in shown.items() if is_named(rule, day) and start < at <= end})
    slot, found = rule.first(start, zone), list[int]()
    while slot.due_ms <= end:
        found.append(slot.due_ms)
        assert rule.day_of(slot.due_ms, zone) == slot.day
        slot = rule.after(slot.due_ms, slot.due_ms, zone, slot.day)
    assert [local(one, zone) for one in found] == [local(one, zone) for one in expected]
    assert found == expected


@given(rule=RULES, zone=st.sampled_from(ZONES), missed=st.integers(0, 900))
def test_missed_slots_count_as_one_and_the_next_lies_ahead(rule: Recurrence, zone: str, missed: int) -> None:
    first = rule.first(ms("2025-01-01"), zone)
    now = first.due_ms + missed * 24 * HOUR_MS
    following = rule.after(first.due_ms, now, zone, first.day)
    assert following.due_ms > now
    assert following == rule.first(now, zone, first.day)


@given(
    zones=st.lists(st.sampled_from(ZONES), min_size=2, max_size=8),
    pauses=st.lists(st.integers(1, 60), min_size=8, max_size=8),
)
def test_who_moves_has_at_most_one_slot_for_each_day_of_theirs(zones: list[str], pauses: list[int]) -> None:
    rule, now, last_day = Recurrence(Every.DAY, 9), ms("2025-03-20"), ""
    days = list[str]()
    slot = rule.first(now, zones[0])
    for zone, hours in zip(zones, pauses, strict=False):
        until = now + hours * HOUR_MS
        slot = rule.first(now, zone, last_day)
        while slot.due_ms <= until:
            assert local(slot.due_ms, zone).endswith("09:00")
            days.append(slot.day)
            last_day = slot.day
            slot = rule.after(slot.due_ms, slot.due_ms, zone, last_day)
        now = until
    assert days == sorted(set(days))


def test_calendars_and_clocks_are_taken_as_people_mean_them_and_what_is_no_rule_is_refused() -> None:
    for text, after, zone, due in (
        ("yearly 02-29 09:00", "2025-01-01", "Europe/Berlin", "2025-02-28 09:00"),
        ("yearly 02-29 09:00", "2028-01-01", "Europe/Berlin", "2028-02-29 09:00"),
        ("monthly 31 09:00", "2025-04-01", "Asia/Tokyo", "2025-04-30 09:00"),
        ("monthly 31 09:00", "2025-04-30T12:00", "Asia/Tokyo", "2025-05-31 09:00"),
        ("daily 2:30", "2025-03-29T12:00", "Europe/Berlin", "2025-03-30 03:30"),
        ("daily 2:30", "2025-10-25T12:00", "Europe/Berlin", "2025-10-26 02:30"),
        ("weekdays 9:00", "2025-03-28T12:00", "America/New_York", "2025-03-31 09:00"),
        ("weekly mon,thu 09:00", "2025-03-25", "America/New_York", "2025-03-27 09:00"),
    ):
        assert local(Recurrence.parse(text).first(ms(after, zone), zone).due_ms, zone) == due
    assert Recurrence.parse("daily 9:00").first(ms("2025-03-01"), "Mars/Olympus").due_ms == ms("2025-03-01T09:00")
    rule = Recurrence.parse("daily 02:30")
    first = rule.first(ms("2025-10-25T12:00", "Europe/Berlin"), "Europe/Berlin")
    assert first.due_ms == ms("2025-10-26T00:30")
    following = rule.after(first.due_ms, first.due_ms, "Europe/Berlin", first.day)
    assert local(following.due_ms, "Europe/Berlin") == "2025-10-27 02:30"
    hourly = Recurrence.parse("every 3 hours")
    assert hourly.first(1_000, "Europe/Berlin").due_ms == 1_000 + 3 * HOUR_MS
    assert hourly.after(5_000, 5_000 + 7 * HOUR_MS, "", "").due_ms == 5_000 + 9 * HOUR_MS
    assert hourly.day_of(5_000, "") == ""
    for text in (
        "",
        "0h",
        "169h",
        "daily",
        "daily 24:00",
        "weekly 09:00",
        "weekly son 9:00",
        "monthly 32 9:00",
        "monthly 09:00",
        "monthly last workday 10:00",
        "monthly first mon 10:00",
        "monthly last 09:00",
        "weekly month 09:00",
        "weekly sunrise,mon 09:00",
        "weekly mon tue 09:00",
        "monthly 0 9:00",
        "yearly 02-30 9:00",
        "yearly 13-01 9:00",
        "0 9 * * *",
        "daily 9:00 " * 50,
        "\u0664h",
    ):
        with pytest.raises(ValueError, match="is no"):
            Recurrence.parse(text)
        assert recurrence_of(text) is None


@given(rule=RULES | st.builds(Recurrence, every=st.just(Every.HOURS), hours=st.integers(1, 168)))
def test_a_rule_is_read_back_as_it_was_written(rule: Recurrence) -> None:
    assert Recurrence.parse(str(rule)) == rule
    assert recurrence_of(str(rule)) == rule
