"""When a soul may speak unasked (seed 002, *Initiative*): pure rules."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Self

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

INVITED: Final = "invited"
"""The parameter of a tick's perception in whose thought something may be said, since its person invited the soul."""

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


NEVER_QUIET: Final = QuietHours()
