"""When people's reminders ought to come, found apart from the daemon: by reading clocks, never by setting them."""

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Final
from zoneinfo import ZoneInfo

from daemon.core.value import Value

_SUNDAY: Final = 6
_SATURDAY: Final = 5
_FEBRUARY: Final = 2
_DAY: Final = dt.timedelta(days=1)


class Wanted(Value):
    """A rule in the daemon's words, and what it means: the time of day, and the days."""

    rule: str
    hour: int
    minute: int
    on: Callable[[dt.date], bool]


def _ends_month(day: dt.date) -> bool:
    return (day + _DAY).day == 1


WANTED: Final = (
    Wanted("daily 02:30", 2, 30, lambda _: True),
    Wanted("weekdays 09:00", 9, 0, lambda day: day.weekday() < _SATURDAY),
    Wanted("weekly sun 01:30", 1, 30, lambda day: day.weekday() == _SUNDAY),
    Wanted("monthly 31 00:15", 0, 15, _ends_month),
    Wanted("yearly 02-29 23:45", 23, 45, lambda day: day.month == _FEBRUARY and _ends_month(day)),
)


class Stay(Value):
    """Where a person lives from a moment to another (ms, UTC)."""

    zone: str
    from_ms: int
    to_ms: int


def expected(wanted: Wanted, stays: Sequence[Stay]) -> list[int]:
    """The moments (ms, UTC) at which a rule is due: one a day that it names, also for who lives on two on that day."""
    found: list[int] = []
    last = dt.date.min
    for stay in stays:
        zone = ZoneInfo(stay.zone)
        day = dt.datetime.fromtimestamp(stay.from_ms / 1000, zone).date() - _DAY
        while (moment := _moment(dt.datetime.combine(day, dt.time(wanted.hour, wanted.minute)), zone)) <= stay.to_ms:
            if wanted.on(day) and day > last and moment > stay.from_ms:
                found.append(moment)
                last = day
            day += _DAY
    return found


def _moment(wall: dt.datetime, zone: ZoneInfo) -> int:
    """When the clocks of a zone show a time first; of one that they skip, so much later as they skip."""
    before, after = (_ahead(wall.replace(tzinfo=dt.UTC) + side, zone) for side in (-1.5 * _DAY, 1.5 * _DAY))
    read = [at for ahead in (before, after) if _reads(at := _instant(wall - ahead), zone) == wall]
    return min(read, default=_instant(wall - before))


def _ahead(at: dt.datetime, zone: ZoneInfo) -> dt.timedelta:
    return at.astimezone(zone).utcoffset() or dt.timedelta()


def _instant(utc: dt.datetime) -> int:
    return int(utc.replace(tzinfo=dt.UTC).timestamp()) * 1000


def _reads(ms: int, zone: ZoneInfo) -> dt.datetime:
    return dt.datetime.fromtimestamp(ms / 1000, zone).replace(tzinfo=None)
