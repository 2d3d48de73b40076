"""Time zones, times as users and models write them, slots of crontabs, and recurrence rules of reminders."""

import calendar
import datetime as dt
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final, Self
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from daemon.core.text import quoted
from daemon.core.value import Value

_LONGEST = 64  # characters of a name; the longest of IANA's has 32


@lru_cache(maxsize=512)
def zone_of(name: str) -> ZoneInfo | None:
    """Return the zone of an IANA name. None for an empty or unknown name."""
    if not name or len(name) > _LONGEST or not name.isascii():
        return None
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # a name that is no zone, or a folder of zones
        return None


MINUTE_MS = 60_000
FARTHEST_MS = 366 * 24 * 60 * MINUTE_MS
"""Milliseconds that an event may be scheduled ahead: a year."""
OFTENEST_MS = 15 * MINUTE_MS
"""Milliseconds between two slots of a repeated event, at least."""

_EPOCH = datetime.fromtimestamp(0, UTC)
_SECONDS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_UNITS = r"w(?:eeks?)?|d(?:ays?)?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?"
_SPAN = re.compile(rf"(?:\d{{1,9}}\s*(?:{_UNITS})\s*)+", re.ASCII)
_SPAN_PART = re.compile(r"(\d+)\s*([wdhms])", re.ASCII)
_DURATION = re.compile(
    r"p(?=.)(?:(\d{1,9})w)?(?:(\d{1,9})d)?(?:t(?=.)(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?)?", re.ASCII
)
_TIME_OF_DAY = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?:\s*utc)?", re.ASCII)
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")  # crontab's own numbers: 0 and 7 are Sunday
_WEEKDAY = re.compile(r"(?:\*|([0-7])(?:-([0-7]))?)(?:/([1-7]))?", re.ASCII)
_SLOTS_LOOKED_AT = 100  # more than a day's 96 quarter hours
_LEAP = 8  # years in which each day of the calendar comes
_CRONTAB_FIELDS = 5


class InThePast(ValueError):
    """Raised when the time is over."""


class TooFarAhead(ValueError):
    """Raised when the time is more than a year ahead."""


def when(text: str, now_ms: int, zone: str = "") -> int:
    """Return the time that `text` means, in milliseconds UTC.

    `text` is a span (`in 20m`, `2h30m`, `3 days`), an ISO 8601 duration (`PT20M`), an ISO 8601 time
    (`2026-03-01T09:00+01:00`) or a time of day (`17:30`: today, or tomorrow once it has passed). A time without a zone
    is read in `zone`, an IANA name. If that is unknown, a date needs its own zone and a time of day is UTC. A time
    skipped by daylight saving is an hour later; of a repeated one the first in the future counts. Raises ValueError,
    with a message for the author, for anything else. InThePast and TooFarAhead are for times that are over and for more
    than a year ahead.
    """
    words = text.strip().lower()
    seconds = _seconds_of(words.removeprefix("in ").strip())
    try:
        due = (
            _moment(words.removeprefix("at ").strip(), text, now_ms, zone_of(zone))
            if seconds is None
            else now_ms + seconds * 1000
        )
    except OverflowError as error:  # the first day of the calendar, in a zone where it began before
        raise InThePast(f"{quoted(text)} is not in the future") from error
    if due <= now_ms:
        raise InThePast(f"{quoted(text)} is not in the future")
    if due > now_ms + FARTHEST_MS:
        raise TooFarAhead(f"{quoted(text)} is more than a year ahead")
    return due


def span_ms(text: str) -> int:
    """Return a time span (`20m`, `2h30m`, `3 days`, `PT20M`) in milliseconds. Raises ValueError for anything else."""
    seconds = _seconds_of(text.strip().lower())
    if seconds is None:
        raise ValueError(f"{quoted(text)} is not a time span: write 20m, 2h30m, 3 days or PT20M")
    return seconds * 1000


def next_slot(every: str, after_ms: int, zone: str = "") -> int:
    """Return the first slot of a crontab at or after a time, both in milliseconds UTC.

    `every` has the five fields of crontab(5), read in `zone`, an IANA name, or in UTC if there is no such zone.
    Weekdays may be names or crontab's numbers. Raises ValueError for invalid text, and if no slot lies within a year.
    Days of the month and of the week together are refused too: programs differ in how they combine the two.
    """
    start = _datetime(after_ms).astimezone(zone_of(zone) or UTC)
    slot = next(_slots(every, start, years=1), None)
    if slot is None or (found := _ms(slot)) > after_ms + FARTHEST_MS:
        raise ValueError(f"{quoted(every)} has no slot within a year")
    return found


def _slots(every: str, start: datetime, *, years: int) -> Iterator[datetime]:
    """Yield the slots of a crontab from a time on, until the end of the year `years` later. Raises ValueError."""
    from apscheduler.triggers.cron import CronTrigger  # type: ignore[import-untyped]  # it comes without types

    minute, hour, day, month, weekday = _fields(every)
    try:
        among = f"{start.year}-{start.year + years}"  # without it, 30 February is searched until the year 9999
        trigger = CronTrigger(among, month, day, None, _weekdays(weekday), hour, minute, timezone=start.tzinfo)
        slot = trigger.get_next_fire_time(None, start)
        while slot is not None:
            yield slot
            slot = trigger.get_next_fire_time(None, slot + timedelta(milliseconds=1))
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{quoted(every)} is no crontab: {quoted(str(error), 80)}") from error


def require_seldom(every: str, now_ms: int) -> None:
    """Check a crontab. Raises ValueError if it is invalid or has slots less than 15 minutes apart."""
    first = next_slot(every, now_ms)
    for earlier, later in pairwise(islice(_slots(every, _datetime(first), years=_LEAP), _SLOTS_LOOKED_AT + 1)):
        if _ms(later) - _ms(earlier) < OFTENEST_MS:
            raise ValueError(f"{quoted(every)} has slots less than 15 minutes apart")


CLOCKS_DIFFER_S = 600.0
"""Seconds that our clock may be ahead of the platform's."""


def platform_time(ms: int) -> str:
    """Return a time as Slack writes the ts of a message: seconds with six decimals."""
    return f"{ms // 1000}.{ms % 1000:03d}000"


def surely_past(ms: int) -> str:
    """Return the ts of a time that is surely over by the platform's clock when ours shows `ms`."""
    return platform_time(ms - int(CLOCKS_DIFFER_S * 1000))


def moment(ms: int) -> str:
    """Return a time for people to read, in UTC: `2026-03-01 09:00:00`."""
    return f"{_datetime(ms):%Y-%m-%d %H:%M:%S}"


def moment_in(ms: int, zone: str) -> str:
    """Return a time for people to read, in a zone or else in UTC: `Sunday, 2026-03-01 09:00 (Europe/Berlin)`."""
    known = zone_of(zone)
    return f"{_datetime(ms).astimezone(known or UTC):%A, %Y-%m-%d %H:%M} ({known.key if known else 'UTC'})"


def minute_in(ms: int, zone: str) -> str:
    """Return a short time for people to read, in a zone or else in UTC: `2026-03-01 09:00`."""
    return f"{_datetime(ms).astimezone(zone_of(zone) or UTC):%Y-%m-%d %H:%M}"


def _seconds_of(words: str) -> int | None:
    if _SPAN.fullmatch(words):
        return sum(int(number) * _SECONDS[unit] for number, unit in _SPAN_PART.findall(words))
    if found := _DURATION.fullmatch(words):
        return sum(int(number or 0) * size for number, size in zip(found.groups(), _SECONDS.values(), strict=True))
    return None


def _moment(words: str, text: str, now_ms: int, zone: ZoneInfo | None) -> int:
    if found := _TIME_OF_DAY.fullmatch(words):
        there = UTC if zone is None or words.endswith("utc") else zone
        today = _datetime(now_ms).astimezone(there).replace(tzinfo=None)
        due = today.replace(hour=int(found[1]), minute=int(found[2]), second=0, microsecond=0)
        found_ms = _next(due, there, now_ms)
        return found_ms if found_ms > now_ms else _next(due + timedelta(days=1), there, now_ms)
    try:
        time = datetime.fromisoformat(words.upper())
    except ValueError:
        raise ValueError(
            f"{quoted(text)} is not a time: write 20m, 2h30m, PT20M, 17:30 (UTC) or 2026-03-01T09:00+01:00"
        ) from None
    if time.tzinfo is None and zone is not None:
        return _next(time, zone, now_ms)
    if time.tzinfo is None:
        raise ValueError(f"{quoted(text)} has no zone: end it with Z for UTC, or with an offset such as +01:00")
    return _ms(time)


def _next(local: datetime, zone: tzinfo, now_ms: int) -> int:
    """Return the moment of a local time in a zone. Of a repeated time the first in the future counts."""
    first, second = (_ms(local.replace(tzinfo=zone, fold=fold).astimezone(UTC)) for fold in (0, 1))
    return second if first <= now_ms < second else first


def _fields(every: str) -> list[str]:
    fields = every.lower().split()
    if len(fields) != _CRONTAB_FIELDS:
        raise ValueError(f"{quoted(every)} is no crontab: it needs minute, hour, day, month and weekday")
    if fields[2] != "*" and fields[4] != "*":
        raise ValueError(f"{quoted(every)} names days of the month and of the week; give one of them")
    return fields


def _weekdays(field: str) -> str:
    """Return crontab's day numbers as names: APScheduler counts days from Monday."""
    names: list[str] = []
    for part in field.split(","):
        found = _WEEKDAY.fullmatch(part)
        if field == "*" or found is None:
            names.append(part)
            continue
        first, last, step = found.groups()
        low = int(first or 0)
        high = int(last) if last else low if first and not step else 6
        if high < low:
            raise ValueError("its weekdays run backwards")
        names += _WEEKDAYS[low : high + 1 : int(step or 1)]
    return ",".join(names)


def _datetime(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=ms)


def _ms(time: datetime) -> int:
    return (time - _EPOCH) // timedelta(milliseconds=1)


FEWEST_HOURS: Final = 1
MOST_HOURS: Final = 7 * 24

_HOUR_MS: Final = 3_600_000
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_LONG_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NAMED: Final = {
    **{name: number for number, long in enumerate(_LONG_DAYS) for name in (long[:3], long, f"{long}s")},
    "tues": 1,
    "thur": 3,
    "thurs": 3,
}
_WORKING: Final = frozenset(range(5))
_FARTHEST_DAYS: Final = 366 + 31
_LEAP_YEAR: Final = 2024  # any
_TIME: Final = r"(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)"
_HOURS: Final = re.compile(r"(?:every\s+)?(?P<hours>\d{1,3})\s*h(?:ours?)?", re.ASCII)
_RULE: Final = re.compile(rf"(?P<head>[a-z0-9, -]+?)[ ]+(?:at )?{_TIME}", re.ASCII)
_OF_MONTH: Final = re.compile(r"monthly (\d{1,2})", re.ASCII)
_OF_YEAR: Final = re.compile(r"yearly (\d{1,2})-(\d{1,2})", re.ASCII)


class Every(StrEnum):
    """The units of a rule."""

    HOURS = "hours"
    DAY = "daily"
    WEEK = "weekly"
    MONTH = "monthly"
    YEAR = "yearly"


class DueTime(Value):
    """The due time of a rule (ms, UTC), and its day, such as `2026-03-01`. A rule of hours has no day."""

    due_ms: int
    day: str = ""


class Recurrence(Value):
    """The rule of a repeated reminder: `hours` between two times, or `hour` and `minute` on the days of the rule.

    `weekdays` count from Monday, 0. A yearly rule has `month` and `day`, a monthly one `day`.
    """

    every: Every
    hour: int = 0
    minute: int = 0
    hours: int = 0
    weekdays: frozenset[int] = frozenset()
    month: int = 0
    day: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a rule. Raises ValueError, with a message for its author, for anything else.

        `daily 09:00`, `weekdays 9:00`, `weekly mon,thu 09:00`, `monthly 31 09:00`, `yearly 02-29 09:00`, `3h`.
        """
        words = " ".join(text.lower().split())
        if (found := _HOURS.fullmatch(words)) is not None:
            hours = int(found["hours"])
            if not FEWEST_HOURS <= hours <= MOST_HOURS:
                raise ValueError(f"{quoted(text)} is no span of {FEWEST_HOURS} to {MOST_HOURS} hours")
            return cls(Every.HOURS, hours=hours)
        found = _RULE.fullmatch(words)
        rule = cls._of_days(found["head"].strip()) if found is not None else None
        if found is None or rule is None:
            raise ValueError(
                f"{quoted(text)} is no rule: write daily 09:00, weekdays 09:00, weekly mon,thu 09:00, "
                "monthly 31 09:00, yearly 02-29 09:00 or 3h"
            )
        return replace(rule, hour=int(found["hour"]), minute=int(found["minute"]))

    @classmethod
    def _of_days(cls, head: str) -> Self | None:
        if head in {"daily", "every day"}:
            return cls(Every.DAY)
        if head == "weekdays":
            return cls(Every.WEEK, weekdays=_WORKING)
        if (found := _OF_MONTH.fullmatch(head)) is not None:
            day = int(found[1])
            return cls(Every.MONTH, day=day) if 1 <= day <= 31 else None  # noqa: PLR2004  # the longest month
        if (found := _OF_YEAR.fullmatch(head)) is not None:
            month, day = int(found[1]), int(found[2])
            there = 1 <= month <= 12 and 1 <= day <= calendar.monthrange(_LEAP_YEAR, month)[1]  # noqa: PLR2004
            return cls(Every.YEAR, month=month, day=day) if there else None
        names = [one.strip() for one in head.removeprefix("weekly ").split(",")]
        known = all(one in _NAMED for one in names)
        return cls(Every.WEEK, weekdays=frozenset(_NAMED[one] for one in names)) if known else None

    def __str__(self) -> str:
        if self.every is Every.HOURS:
            return f"{self.hours}h"
        days = {
            Every.WEEK: f" {','.join(_DAYS[one] for one in sorted(self.weekdays))}",
            Every.MONTH: f" {self.day}",
            Every.YEAR: f" {self.month:02d}-{self.day:02d}",
        }
        return f"{self.every}{days.get(self.every, '')} {self.hour:02d}:{self.minute:02d}"

    def at(self, hour: int, minute: int) -> "Recurrence":
        return replace(self, hour=hour, minute=minute)

    def first(self, now_ms: int, zone: str, last_day: str = "") -> DueTime:
        """Return the first slot after a moment (ms, UTC), by the clocks of an IANA zone, or UTC if unknown.

        No slot is due for `last_day` or earlier: a user who moves westwards gets no second one on the same day.
        """
        if self.every is Every.HOURS:
            return DueTime(now_ms + self.hours * _HOUR_MS)
        return self._next(now_ms, zone, last_day)

    def after(self, due_ms: int, now_ms: int, zone: str, last_day: str) -> DueTime:
        """Return the next future slot after one that was due for `last_day`. Missed slots count as one."""
        if self.every is Every.HOURS:
            step = self.hours * _HOUR_MS
            return DueTime(due_ms + (max(0, now_ms - due_ms) // step + 1) * step)
        return self._next(max(due_ms, now_ms), zone, last_day)

    def day_of(self, due_ms: int, zone: str) -> str:
        """Return the day of a slot that was computed in a zone. Empty for a rule of hours."""
        if self.every is Every.HOURS:
            return ""
        there = _local(due_ms, zone).date()
        days = (there - dt.timedelta(days=1), there)  # the moment of a skipped minute may lie on the day after
        named = (one for one in days if self._names(one) and self._moment(one, zone) == due_ms)
        return next(map(str, named), str(there))

    def _next(self, after_ms: int, zone: str, last_day: str) -> DueTime:
        begin = _local(after_ms, zone).date() - dt.timedelta(days=1)
        for number in range(_FARTHEST_DAYS):
            day = begin + dt.timedelta(days=number)
            if self._names(day) and str(day) > last_day and (due := self._moment(day, zone)) > after_ms:
                return DueTime(due, str(day))
        raise ValueError(f"{self} has no slot within a year")

    def _names(self, day: dt.date) -> bool:
        if self.every is Every.WEEK:
            return day.weekday() in self.weekdays
        last = calendar.monthrange(day.year, day.month)[1]
        in_month = self.every is not Every.YEAR or day.month == self.month
        return self.every is Every.DAY or (in_month and day.day == min(self.day, last))

    def _moment(self, day: dt.date, zone: str) -> int:
        local = dt.datetime.combine(day, dt.time(self.hour, self.minute), zone_of(zone) or dt.UTC)
        return int(local.timestamp()) * 1000


def recurrence_of(every: str) -> Recurrence | None:
    """Return a stored text as a rule. None for a crontab or an empty text."""
    try:
        return Recurrence.parse(every) if every else None
    except ValueError:
        return None


def _local(ms: int, zone: str) -> dt.datetime:
    return dt.datetime.fromtimestamp(ms / 1000, zone_of(zone) or dt.UTC)
