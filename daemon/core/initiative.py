"""Quiet hours, and the limits on messages that a soul sends unasked."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, Literal, Self

from daemon.core.timetable import when, zone_of
from daemon.core.value import Value

MOST_PROMISED: Final = 3
"""Promises to one person that may be open at once."""

PROMISED: Final = "promised"
"""The param of a tick's perception that holds the ids of the goals whose promise is due."""

EARLY: Final = "early"
"""The param of a tick's perception that holds the ids of promised goals that a reading announces early."""

MOST_UNASKED: Final = 2
"""Unasked messages to a person in a day, promises apart."""

MOST_IN_A_THREAD: Final = 1
"""Unasked messages in a thread of a channel in a day, promises apart."""

FEWEST_VISITS: Final = 3
"""Visits of a person before the soul may ask whether it may write to them unasked."""

INVITING: Final = "inviting-"
"""The prefix of the id of an approval that asks a person whether the soul may write to them unasked."""

YES, NO = "invite_yes", "invite_no"
"""The ids of the two buttons of that question."""

DAY_MS: Final = 86_400_000

FIRST_PAUSE_MS: Final = DAY_MS

LONGEST_PAUSE_MS: Final = 30 * DAY_MS

State = Literal["unasked", "invited", "declined", "paused"]
"""The states of an invitation to write unasked. `paused`: invited, but not for a while."""

WhySilent = Literal["", "not_invited", "not_now", "rate", "quiet"]
"""The reasons for silence. Empty: the soul may write unasked."""

QUIET_HOURS: Final = r"|([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]"
"""The pattern of quiet hours: `20:00-08:00`, or empty."""

_HOURS: Final = re.compile(r"(\d\d):(\d\d)-(\d\d):(\d\d)")


class QuietHours(Value):
    """The part of each day, on a person's own clock, without unasked messages. Empty if both ends are equal."""

    begin: int = 0  # minutes of the day
    end: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `20:00-08:00`. Any other text gives no quiet hours."""
        if (found := _HOURS.fullmatch(text)) is None:
            return cls()
        hours = [int(part) for part in found.groups()]
        return cls(hours[0] * 60 + hours[1], hours[2] * 60 + hours[3])

    def over(self, at_ms: int, zone: str) -> int:
        """Return the first moment (ms, UTC) from `at_ms` on that is not quiet in a zone, or UTC if unknown."""
        there = zone_of(zone)
        local = datetime.fromtimestamp(at_ms / 1000, there or UTC)
        minute = local.hour * 60 + local.minute
        after, before = minute >= self.begin, minute < self.end
        quiet = (after and before) if self.begin < self.end else self.begin != self.end and (after or before)
        return when(f"{self.end // 60:02}:{self.end % 60:02}", at_ms, zone) if quiet else at_ms

    def __str__(self) -> str:
        ends = (f"{one // 60:02}:{one % 60:02}" for one in (self.begin, self.end))
        return "-".join(ends) if self.begin != self.end else ""


NEVER_QUIET: Final = QuietHours()


class QuietThere(Value):
    """Quiet hours in a zone, as an unasked post carries them."""

    hours: QuietHours = NEVER_QUIET
    zone: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        hours, _, zone = text.partition(" ")
        return cls(QuietHours.parse(hours), zone)

    def __str__(self) -> str:
        return f"{self.hours} {self.zone}" if str(self.hours) else ""

    def over(self, at_ms: int) -> int:
        """Return the first moment (ms, UTC) from `at_ms` on that is not quiet there."""
        return self.hours.over(at_ms, self.zone)


NEVER_QUIET_THERE: Final = QuietThere()


class SayingUnasked(Value):
    """The state of unasked messages to a person, or in a thread of a channel; times in ms, UTC.

    `paused_to_ms` ends a pause. `said_ms` are the times of a day's messages, promises apart, at most `most`.
    `unanswered`: the newest message was never answered.
    """

    invited: bool = False
    paused_to_ms: int = 0
    said_ms: tuple[int, ...] = ()
    most: int = MOST_UNASKED
    unanswered: bool = False

    def why_silent(self, now_ms: int, quiet_to_ms: int) -> WhySilent:
        """Return why nothing may be said now. `quiet_to_ms` is the end of quiet hours, or `now_ms` outside of them."""
        if not self.invited:
            return "not_invited"
        if now_ms < self.paused_to_ms:
            return "not_now"
        if self.unanswered or len(self.recent(now_ms)) >= self.most:
            return "rate"
        return "quiet" if quiet_to_ms > now_ms else ""

    def next_ms(self, now_ms: int, quiet_over: Callable[[int], int]) -> int | None:
        """Return the first moment at which something may be said. None if time alone does not allow it."""
        if not self.invited or self.unanswered:
            return None
        recent = self.recent(now_ms)
        free = recent[-self.most] + DAY_MS if len(recent) >= self.most else now_ms
        return quiet_over(max(now_ms, self.paused_to_ms, free))

    def recent(self, now_ms: int) -> tuple[int, ...]:
        """Return the `said_ms` of the last day, oldest first. A clock that was set back frees none."""
        return tuple(sorted(one for one in self.said_ms if one > now_ms - DAY_MS))


def next_pause(pause_ms: int) -> int:
    """Return the pause (ms) after an earlier one, 0 for none: twice as long, up to 30 days."""
    return min(LONGEST_PAUSE_MS, pause_ms * 2) if pause_ms else FIRST_PAUSE_MS


def state_of(decided: State, paused_to_ms: int, now_ms: int) -> State:
    return "paused" if decided == "invited" and now_ms < paused_to_ms else decided
