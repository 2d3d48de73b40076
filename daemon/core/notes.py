"""Notes to souls and to sessions, as values: what one says and where it stands, and what is refused (seed 003)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, Literal, Self

from daemon.core.errors import DaemonError
from daemon.core.perception import Audience
from daemon.core.timetable import when, zone_of

LONGEST: Final = 8_000
"""The most characters of a note."""

SOUL_CHANNEL: Final = "soul"
"""The channel of the conversations in which a soul hears other souls."""

MARK: Final = "NT_"
"""How the id of a note begins."""

NOTE_PARAM: Final = "note"
"""The param of a perception that names the note which it is."""

FROM_PARAM: Final = "from"
"""The param of a note's perception that names its sender."""


class NoteRefused(DaemonError):
    """A note that may not be sent; nothing was sent."""


class NoteKind(StrEnum):
    """What a note is; an answer goes back to the conversation in which the question was sent.

    A `QUESTION` and a `TASK` are for a session: a question changes nothing there. `SAID` is what a session says of
    itself in the thread that is bound to it.
    """

    NOTE = "note"
    ANSWER = "answer"
    QUESTION = "question"
    TASK = "task"
    SAID = "said"


class NoteState(StrEnum):
    """Where a note stands."""

    HELD = "held"
    WAITING = "waiting"
    DELIVERED = "delivered"
    ANSWERED = "answered"
    REFUSED = "refused"
    EXPIRED = "expired"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class NoteBudget:
    """How many notes go between two souls, either way, and from one soul; and how far from a person's words.

    A note and the answer to it count as one.
    """

    pair_hourly: int = 20
    pair_minutely: int = 3
    soul_daily: int = 100
    hops: int = 4


@dataclass(frozen=True, slots=True)
class SharedMessage:
    """A note as it stands in the ledger.

    `sender` and `addressee` are names of souls, `operator` for the admin, or the id of a session. It comes from
    `conversation` (empty for the admin's) and is perceived in `heard_in`; `audience` may know its words. `hops` counts
    from the words of the person `behalf`; `answers` is the note that it answers. `how` is the way by which it was
    perceived.

    The fields after `words` are of notes to a session, and of its answers: `owner` is whose it is, `called` its name
    when it was asked, `asker` the name of the person `behalf`, `reply_to` the thread in which the answer is read.
    `bound`: it goes to the session because its thread is bound to it, and nobody was asked.
    """

    id: str
    kind: NoteKind
    sender: str
    addressee: str
    workspace: str
    conversation: str
    heard_in: str
    behalf: str
    audience: Audience
    hops: int
    answers: str
    state: NoteState
    reason: str
    how: str
    created_ms: int
    delivered_ms: int | None
    answered_ms: int | None
    words: str
    owner: str = ""
    called: str = ""
    asker: str = ""
    reply_to: str = ""
    bound: bool = False


def checked_words(text: str) -> str:
    """The words of a note. Raises NoteRefused for none, too many, and what is no text."""
    words = text.strip()
    if not words:
        raise NoteRefused("the note is empty", hint="write what it has to say")
    if len(words) > LONGEST:
        raise NoteRefused(f"the note has {len(words)} characters; {LONGEST} are the most", hint="say it in short")
    if _NO_TEXT.search(words):
        raise NoteRefused("the note holds a character that is no text", hint="write plain text in Unicode")
    return words


_NO_TEXT: Final = re.compile(r"[\x00\ud800-\udfff]")


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
