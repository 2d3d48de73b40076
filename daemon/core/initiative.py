"""When a soul may speak unasked (seed 002, *Initiative*): pure rules."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, Self

from daemon.core.timetable import when
from daemon.core.zones import zone_of

MOST_PROMISED: Final = 3
"""How many promises to one person are open at once."""

PROMISED: Final = "promised"
"""The parameter of a tick's perception that holds the ids of the goals about which words were promised by now."""

EARLY: Final = "early"
"""The parameter of a tick's perception that holds the ids of promised goals of which a reading tells early."""

MOST_UNASKED: Final = 2
"""How often in a day a soul writes to a person unasked, promises apart."""

MOST_IN_A_THREAD: Final = 1
"""How often in a day it says something unasked in a thread of a channel, promises apart."""

FEWEST_VISITS: Final = 3
"""After so many visits of a person a soul may ask whether it may write to them unasked."""

INVITING: Final = "inviting-"
"""How the id of an approval begins that asks a person whether the soul may write to them unasked."""

YES, NO = "invite_yes", "invite_no"
"""What they may answer to that, by the button."""

DAY_MS: Final = 86_400_000
FIRST_PAUSE_MS: Final = DAY_MS
LONGEST_PAUSE_MS: Final = 30 * DAY_MS

State = Literal["unasked", "invited", "declined", "paused"]
"""How it stands with an invitation: `paused` is one that holds, but not for a while."""

WhySilent = Literal["", "not_invited", "not_now", "rate", "quiet"]
"""Why nothing may be said unasked; empty where something may."""

QUIET_HOURS: Final = r"|([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]"
"""What quiet hours look like: `20:00-08:00`, or nothing."""

_HOURS: Final = re.compile(r"(\d\d):(\d\d)-(\d\d):(\d\d)")


@dataclass(frozen=True, slots=True)
class QuietHours:
    """The part of each day, on a person's own clock, in which nothing is said unasked; empty where both ends meet."""

    begin: int = 0  # minutes of the day
    end: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `20:00-08:00`; anything else is no quiet hour at all."""
        if (found := _HOURS.fullmatch(text)) is None:
            return cls()
        hours = [int(part) for part in found.groups()]
        return cls(hours[0] * 60 + hours[1], hours[2] * 60 + hours[3])

    def over(self, at_ms: int, zone: str) -> int:
        """The first moment (ms, UTC) from `at_ms` on at which it isn't quiet in a zone; in UTC where it is unknown."""
        there = zone_of(zone)
        local = datetime.fromtimestamp(at_ms / 1000, there or UTC)
        minute = local.hour * 60 + local.minute
        after, before = minute >= self.begin, minute < self.end
        quiet = (after and before) if self.begin < self.end else self.begin != self.end and (after or before)
        return when(f"{self.end // 60:02}:{self.end % 60:02}", at_ms, zone) if quiet else at_ms

    def __str__(self) -> str:
        """As `parse` reads it."""
        ends = (f"{one // 60:02}:{one % 60:02}" for one in (self.begin, self.end))
        return "-".join(ends) if self.begin != self.end else ""


NEVER_QUIET: Final = QuietHours()


@dataclass(frozen=True, slots=True)
class QuietThere:
    """Quiet hours in a zone, as a post carries them that nobody asked for."""

    hours: QuietHours = NEVER_QUIET
    zone: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` gives."""
        hours, _, zone = text.partition(" ")
        return cls(QuietHours.parse(hours), zone)

    def __str__(self) -> str:
        """As `parse` reads it; empty where it is never quiet."""
        return f"{self.hours} {self.zone}" if str(self.hours) else ""

    def over(self, at_ms: int) -> int:
        """The first moment (ms, UTC) from `at_ms` on at which it isn't quiet there."""
        return self.hours.over(at_ms, self.zone)


NEVER_QUIET_THERE: Final = QuietThere()


@dataclass(frozen=True, slots=True)
class SayingUnasked:
    """How it stands with writing unasked to somebody, or in a thread of a channel; times in ms, UTC.

    `paused_to_ms` ends a pause. `said_ms` are the times of what was said there within a day, promises apart, of which
    `most` are the most; `unanswered`: the newest of all was never answered.
    """

    invited: bool = False
    paused_to_ms: int = 0
    said_ms: tuple[int, ...] = ()
    most: int = MOST_UNASKED
    unanswered: bool = False

    def why_silent(self, now_ms: int, quiet_to_ms: int) -> WhySilent:
        """Why nothing may be said now; `quiet_to_ms` is when quiet hours end, `now_ms` where there are none."""
        if not self.invited:
            return "not_invited"
        if now_ms < self.paused_to_ms:
            return "not_now"
        if self.unanswered or len(self.recent(now_ms)) >= self.most:
            return "rate"
        return "quiet" if quiet_to_ms > now_ms else ""

    def next_ms(self, now_ms: int, quiet_over: Callable[[int], int]) -> int | None:
        """The first moment at which something may be said; None where time alone doesn't bring it."""
        if not self.invited or self.unanswered:
            return None
        recent = self.recent(now_ms)
        free = recent[-self.most] + DAY_MS if len(recent) >= self.most else now_ms
        return quiet_over(max(now_ms, self.paused_to_ms, free))

    def recent(self, now_ms: int) -> tuple[int, ...]:
        """What of `said_ms` counts for today, oldest first; a clock that was set back frees nothing."""
        return tuple(sorted(one for one in self.said_ms if one > now_ms - DAY_MS))


def next_pause(pause_ms: int) -> int:
    """The pause (ms) after one that came before, 0 for none: twice as long, up to 30 days."""
    return min(LONGEST_PAUSE_MS, pause_ms * 2) if pause_ms else FIRST_PAUSE_MS


def state_of(decided: State, paused_to_ms: int, now_ms: int) -> State:
    """The state of an invitation at a moment."""
    return "paused" if decided == "invited" and now_ms < paused_to_ms else decided
