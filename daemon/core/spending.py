"""What may be spent: who pays for a model call, the caps of a day, and when a day ends."""

import datetime as dt
import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from daemon.core.timetable import zone_of

NANO: Final = 1_000_000_000
"""Parts of a US dollar in which caps are counted, so that sums are exact."""

_FOR_ANSWERS: Final = 0.2  # the share of each cap that work in the background leaves to answers


class PaidBy(StrEnum):
    """Whose cap it is."""

    SOUL = "soul"
    PERSON = "person"
    ROOM = "room"


@dataclass(frozen=True, slots=True)
class Payer:
    """Who a model call is charged to: a soul, and the person and room (platform ids) that it is made for, if any."""

    soul: str = ""
    workspace: str = ""
    person: str = ""
    room: str = ""

    def id_of(self, paid_by: PaidBy) -> str:
        """The name of the soul, or the platform's id; empty where the call is made for no person, or in no room."""
        return {PaidBy.SOUL: self.soul, PaidBy.PERSON: self.person, PaidBy.ROOM: self.room}[paid_by]


@dataclass(frozen=True, slots=True)
class TickBudget:
    """What a soul may take for unasked thoughts: tokens in an hour and a day, US dollars in a day.

    Of these, a thought leaves what open promises can cost, unless it comes `first` as one of them.
    """

    tokens_hour: int
    tokens_day: int
    usd_day: float
    first: bool = False

    @property
    def of_promise(self) -> "TickBudget":
        return replace(self, tokens_hour=self.tokens_day, first=True)


NO_TICKS: Final = TickBudget(0, 0, 0.0)
"""Of a soul whose inner life was switched off meanwhile."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What some work is charged to: its trace, the person and the room that it is done for.

    `background`: no person waits for it, so that it leaves a share of each cap to answers. `tick`: it is unasked,
    so that it keeps to this budget, too.
    """

    trace_id: str
    person: str = ""
    room: str = ""
    background: bool = False
    tick: TickBudget | None = None


@dataclass(frozen=True, slots=True)
class Caps:
    """US dollars that may be spent in a day, by each soul, person and room; None is no cap."""

    soul: float | None = None
    person: float | None = None
    room: float | None = None

    @property
    def known(self) -> dict[PaidBy, float]:
        given = {PaidBy.SOUL: self.soul, PaidBy.PERSON: self.person, PaidBy.ROOM: self.room}
        return {paid_by: cap for paid_by, cap in given.items() if cap is not None}

    def with_own(self, own: float | None) -> "Caps":
        """The same for a soul that has a cap of its own: the lower one counts."""
        given = [cap for cap in (self.soul, own) if cap is not None]
        return Caps(min(given, default=None), self.person, self.room)


@dataclass(frozen=True, slots=True)
class Day:
    """A day of the caps: its date (`2026-07-06`), and when it ends, in ms."""

    date: str
    ends_ms: int


def day_at(now_ms: int, zone: str) -> Day:
    """The day in a time zone (IANA; empty: UTC) at a moment."""
    where = zone_of(zone) or dt.UTC
    date = dt.datetime.fromtimestamp(now_ms / 1000, where).date()
    ends = dt.datetime.combine(date + dt.timedelta(days=1), dt.time(), where)
    return Day(date.isoformat(), round(ends.timestamp() * 1000))


def nano_of(usd: float) -> int:
    """US dollars as whole nano-dollars, rounded up, so that no sum of costs is too low; as the trigger does."""
    return math.ceil(usd * NANO - 0.001)  # a number of nano-dollars is no whole number as a float


def nano_of_cap(usd: float, *, background: bool) -> int:
    """What a cap allows in nano-dollars, rounded down; work in the background may only use a part of it."""
    return math.floor(usd * NANO * (1 - _FOR_ANSWERS if background else 1))
