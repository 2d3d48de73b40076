"""Spending: payers of model calls, caps of a day, budgets of unasked thoughts, and the day of the caps."""

import datetime as dt
import math
from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from daemon.core.timetable import zone_of
from daemon.core.value import Value

NANO: Final = 1_000_000_000
"""Nano-dollars in a US dollar: caps are counted in them for exact sums."""

_FOR_ANSWERS: Final = 0.2  # the share of each cap that work in the background leaves to answers


class PaidBy(StrEnum):
    """The kinds of caps, by payer."""

    SOUL = "soul"
    PERSON = "person"
    ROOM = "room"


class Payer(Value):
    """The payers of a model call: a soul, and the person and room (platform ids) it is made for, if any."""

    soul: str = ""
    workspace: str = ""
    person: str = ""
    room: str = ""

    def id_of(self, paid_by: PaidBy) -> str:
        """Return the soul's name or the platform id. Empty if the call is made for no person, or in no room."""
        return {PaidBy.SOUL: self.soul, PaidBy.PERSON: self.person, PaidBy.ROOM: self.room}[paid_by]


class TickBudget(Value):
    """The budget of unasked thoughts: tokens in an hour and a day, US dollars in a day.

    A thought leaves the possible cost of open promises, unless it is `first`: one of them.
    """

    tokens_hour: int
    tokens_day: int
    usd_day: float
    first: bool = False

    @property
    def of_promise(self) -> "TickBudget":
        return replace(self, tokens_hour=self.tokens_day, first=True)


NO_TICKS: Final = TickBudget(0, 0, 0.0)
"""The budget of a soul whose inner life has been switched off."""


class Charge(Value):
    """The charge of some work: its trace, and the person and the room that it is done for.

    `background`: no user waits for the work, and it leaves a share of each cap to answers. `tick` is the further budget
    of an unasked thought.
    """

    trace_id: str
    person: str = ""
    room: str = ""
    background: bool = False
    tick: TickBudget | None = None


class Caps(Value):
    """The caps in US dollars per day for each soul, person and room. None is no cap."""

    soul: float | None = None
    person: float | None = None
    room: float | None = None

    @property
    def known(self) -> dict[PaidBy, float]:
        given = {PaidBy.SOUL: self.soul, PaidBy.PERSON: self.person, PaidBy.ROOM: self.room}
        return {paid_by: cap for paid_by, cap in given.items() if cap is not None}

    def with_own(self, own: float | None) -> "Caps":
        """Return the caps for a soul with its own cap: the lower one counts."""
        given = [cap for cap in (self.soul, own) if cap is not None]
        return Caps(min(given, default=None), self.person, self.room)


class Day(Value):
    """A day of the caps: its date (`2026-07-06`), and its end in ms."""

    date: str
    ends_ms: int


def day_at(now_ms: int, zone: str) -> Day:
    """Return the day in a time zone (IANA; empty: UTC) at a moment."""
    where = zone_of(zone) or dt.UTC
    date = dt.datetime.fromtimestamp(now_ms / 1000, where).date()
    ends = dt.datetime.combine(date + dt.timedelta(days=1), dt.time(), where)
    return Day(date.isoformat(), round(ends.timestamp() * 1000))


def nano_of(usd: float) -> int:
    """Return US dollars as nano-dollars, rounded up as the database trigger does: no sum is too low."""
    return math.ceil(usd * NANO - 0.001)  # a number of nano-dollars is no whole number as a float


def nano_of_cap(usd: float, *, background: bool) -> int:
    """Return a cap in nano-dollars, rounded down. Work in the background may only use a part of it."""
    return math.floor(usd * NANO * (1 - _FOR_ANSWERS if background else 1))
