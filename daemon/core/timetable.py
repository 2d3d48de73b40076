"""Due times: reads times as users and models write them, in their zone, and the slots of a crontab, in UTC."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

from daemon.core.text import quoted
from daemon.core.zones import zone_of

MINUTE_MS = 60_000
FARTHEST_MS = 366 * 24 * 60 * MINUTE_MS
"""How far ahead an event may be scheduled: a year."""
OFTENEST_MS = 15 * MINUTE_MS
"""The shortest time between two slots of a repeated event."""

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
    """The time that was meant is over."""


class TooFarAhead(ValueError):
    """The time that was meant is more than a year ahead."""


def when(text: str, now_ms: int, zone: str = "") -> int:
    """The time that `text` means, in milliseconds UTC.

    `text` is a span (`in 20m`, `2h30m`, `3 days`), an ISO 8601 duration (`PT20M`), an ISO 8601 time
    (`2026-03-01T09:00+01:00`) or a time of day (`17:30`: today, or tomorrow once it has passed). A time without a zone
    of its own is read in `zone`, an IANA name; where that is unknown, a date needs its own and a time of day is UTC.
    Where clocks are put forward, a time that they skip is an hour later; of one that they show twice, it is the first
    that is still to come. Raises ValueError, with a message for the author, for anything else; InThePast and
    TooFarAhead for what is over and for more than a year ahead.
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
    """A time span (`20m`, `2h30m`, `3 days`, `PT20M`) in milliseconds. Raises ValueError for anything else."""
    seconds = _seconds_of(text.strip().lower())
    if seconds is None:
        raise ValueError(f"{quoted(text)} is not a time span: write 20m, 2h30m, 3 days or PT20M")
    return seconds * 1000


def next_slot(every: str, after_ms: int, zone: str = "") -> int:
    """The first slot of a crontab at or after a time, both in milliseconds UTC.

    `every` has the five fields of crontab(5), read in `zone`, an IANA name, or in UTC where there is none of that
    name; weekdays may be names or crontab's numbers. Raises
    ValueError for text that is no crontab or has no slot within a year, and for one that names days of the month and
    of the week, since programs differ in how they combine the two.
    """
    start = _datetime(after_ms).astimezone(zone_of(zone) or UTC)
    slot = next(_slots(every, start, years=1), None)
    if slot is None or (found := _ms(slot)) > after_ms + FARTHEST_MS:
        raise ValueError(f"{quoted(every)} has no slot within a year")
    return found


def _slots(every: str, start: datetime, *, years: int) -> Iterator[datetime]:
    """The slots of a crontab from a time on, until the end of the year so many years later. Raises ValueError."""
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
    """Raises ValueError for text that is no crontab, or one with slots less than 15 minutes apart."""
    first = next_slot(every, now_ms)
    for earlier, later in pairwise(islice(_slots(every, _datetime(first), years=_LEAP), _SLOTS_LOOKED_AT + 1)):
        if _ms(later) - _ms(earlier) < OFTENEST_MS:
            raise ValueError(f"{quoted(every)} has slots less than 15 minutes apart")


CLOCKS_DIFFER_S = 600.0
"""Seconds that our clock may be ahead of the platform's."""


def platform_time(ms: int) -> str:
    """A time as Slack writes the ts of a message: seconds with six decimals."""
    return f"{ms // 1000}.{ms % 1000:03d}000"


def surely_past(ms: int) -> str:
    """The ts of a time that is surely over by the platform's clock when ours shows `ms`."""
    return platform_time(ms - int(CLOCKS_DIFFER_S * 1000))


def moment(ms: int) -> str:
    """A time for people to read, in UTC: `2026-03-01 09:00:00`."""
    return f"{_datetime(ms):%Y-%m-%d %H:%M:%S}"


def moment_in(ms: int, zone: str) -> str:
    """A time for a person to read, in their zone: `Sunday, 2026-03-01 09:00 (Europe/Berlin)`; else in UTC."""
    known = zone_of(zone)
    return f"{_datetime(ms).astimezone(known or UTC):%A, %Y-%m-%d %H:%M} ({known.key if known else 'UTC'})"


def minute_in(ms: int, zone: str) -> str:
    """A time for a person to read in little room, in their zone or else in UTC: `2026-03-01 09:00`."""
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
    """A time on the clocks of a zone; of one that they show twice the first that is still to come."""
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
    """Crontab's day numbers as names, since APScheduler counts days from Monday."""
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
