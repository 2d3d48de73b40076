"""What repeats on a person's own clock: which local minute is next, whatever their clocks and their calendar do.

A rule is kept as text (`weekly mon,thu 09:00`). Each day that it names has one moment, the same on each reckoning: a
minute that the clocks skip is an hour later, of one that they show twice the first counts. A day that a month lacks is
its last one. A rule of hours counts them on any clock.
"""

import calendar
import datetime as dt
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Self

from daemon.core.text import quoted
from daemon.core.zones import zone_of

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
    """What a rule counts."""

    HOURS = "hours"
    DAY = "daily"
    WEEK = "weekly"
    MONTH = "monthly"
    YEAR = "yearly"


@dataclass(frozen=True, slots=True)
class DueTime:
    """When a rule is due (ms, UTC), and the day that it is due for, as `2026-03-01`; a rule of hours has none."""

    due_ms: int
    day: str = ""


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A rule: `hours` from one time to the next, or `hour` and `minute` on the days that it names.

    `weekdays` count from Monday, 0. A rule of the year has `month` and `day`, one of the month `day`.
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
        """The same days at another time of day."""
        return replace(self, hour=hour, minute=minute)

    def first(self, now_ms: int, zone: str, last_day: str = "") -> DueTime:
        """The first slot after a moment (ms, UTC), on the clocks of a zone (an IANA name); UTC where it is none.

        None is due for `last_day` or a day before it: who moves westwards gets no second one on the same day.
        """
        if self.every is Every.HOURS:
            return DueTime(now_ms + self.hours * _HOUR_MS)
        return self._next(now_ms, zone, last_day)

    def after(self, due_ms: int, now_ms: int, zone: str, last_day: str) -> DueTime:
        """The slot after one that was due for `last_day`, in the future, so that missed ones count as one."""
        if self.every is Every.HOURS:
            step = self.hours * _HOUR_MS
            return DueTime(due_ms + (max(0, now_ms - due_ms) // step + 1) * step)
        return self._next(max(due_ms, now_ms), zone, last_day)

    def day_of(self, due_ms: int, zone: str) -> str:
        """The day for which a slot is due that was reckoned in a zone; empty where it names none."""
        if self.every is Every.HOURS:
            return ""
        there = _local(due_ms, zone).date()
        days = (there - dt.timedelta(days=1), there)  # of a skipped minute the moment may lie on the day after
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
        """Whether a day is one of the rule's."""
        if self.every is Every.WEEK:
            return day.weekday() in self.weekdays
        last = calendar.monthrange(day.year, day.month)[1]
        in_month = self.every is not Every.YEAR or day.month == self.month
        return self.every is Every.DAY or (in_month and day.day == min(self.day, last))

    def _moment(self, day: dt.date, zone: str) -> int:
        local = dt.datetime.combine(day, dt.time(self.hour, self.minute), zone_of(zone) or dt.UTC)
        return int(local.timestamp()) * 1000


def recurrence_of(every: str) -> Recurrence | None:
    """The rule that a stored text is; None for a crontab, and for none."""
    try:
        return Recurrence.parse(every) if every else None
    except ValueError:
        return None


def _local(ms: int, zone: str) -> dt.datetime:
    return dt.datetime.fromtimestamp(ms / 1000, zone_of(zone) or dt.UTC)
