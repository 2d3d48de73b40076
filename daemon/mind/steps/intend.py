"""The step that reads a request to set or drop reminders from a user's messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict

from daemon.core.ports.services import Effort
from daemon.core.step import Step
from daemon.core.text import one_line
from daemon.core.working_memory import WorkingMemory
from daemon.mind.reply import structured
from daemon.soul_engine import with_notes

REMINDERS = "reminders"
"""The region of pending reminders: data, since users worded them."""

HERE: Final = frozenset({"", "here", "thread"})
"""The words of a model for the conversation itself."""

_COMMAND = """\
What reminder does the person who spoke last want set or dropped, in what they said since the last reply? For \
them it is {now}. {waiting}

Answer with JSON: {{"what": "…", "when": "…", "unanswered": false, "every": "…", "until": "…", "times": 0, "where": \
"…", "digest": false, "unknown_zone": "…", "drop": [numbers]}}. `what` is what to bring up, in a few words, in their \
language. `when`: a span from now like "in 20m", "in 2h30m", "in 3 days", or a moment on their own clock like \
"2026-03-01T09:00"; "" if it is to be once something happens rather than at a time. `unanswered` true if it is to be \
only if no one has answered here by then. `every`, if it comes again and again: "daily 09:00", "weekdays 09:00", \
"weekly mon,thu 09:00", "monthly 31 09:00", "yearly 02-29 09:00", or hours, "3h". `until`, like `when`, and `times`, \
else 0, only if they say how long, or how often. `where`: "" for here, "me" for them alone, "channel" for all in this \
channel, or another one as they name it, "#ops". `digest` true if they want a digest of what is said in a channel. \
`unknown_zone`: a time zone that they name and that does not exist, as they wrote it. Leave all "" where nothing is to \
be set, or where it can't be made out. `drop` lists the numbers of those to drop, [] for none."""

_NONE_WAIT = "None waits in this conversation, so there is none to drop."
_SOME_WAIT = 'Waiting in this conversation, and numbered under "Reminders": {count}.'


_SAID: Final = {
    "when": "the time",
    "unanswered": "that it is only if no one answers",
    "until": "until when",
    "times": "how often",
    "every": "that it comes again",
    "where": "the place",
    "digest": "the digest",
}


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    what: str = ""
    when: str = ""
    unanswered: bool = False
    every: str = ""
    until: str = ""
    times: int = 0
    where: str = ""
    digest: bool = False
    unknown_zone: str = ""
    drop: list[int] = []


@dataclass(frozen=True, slots=True)
class ReminderRequest:
    """A request: `what` to bring up, and when, all empty for nothing, and the numbers to `drop`.

    `when` and `until` are as `timeframes.due_time` reads them, `times` is the number of repetitions, 0 for no number.
    An `unanswered` reminder appears only if no reply came before. `every` is a rule as `Recurrence` reads it. `where`
    is empty for here, `me`, `channel` for this one, or another channel's name. A `digest` sums up what is said there.
    `unknown_zone` is a time zone that, as the model says, does not exist.
    """

    when: str = ""
    what: str = ""
    drop: tuple[int, ...] = ()
    unanswered: bool = False
    every: str = ""
    until: str = ""
    times: int = 0
    where: str = ""
    digest: bool = False
    unknown_zone: str = ""

    @property
    def is_here(self) -> bool:
        return self.where.casefold() in HERE and not self.digest

    @property
    def unheeded(self) -> tuple[str, ...]:
        once = {"times"} if self.times == 1 else set()
        heeded = {"when", "where", "every", "digest", *({"until", "times"} if self.every else once)}
        if self.when and self.is_here and not self.every:
            heeded.add("unanswered")
        return tuple(said for name, said in _SAID.items() if name not in heeded and getattr(self, name))


def with_reminders(memory: WorkingMemory, waiting: Sequence[str]) -> WorkingMemory:
    """Add the pending reminders, one numbered line each, as data."""
    return with_notes(memory, REMINDERS, "\n".join(f"{number}. {line}" for number, line in enumerate(waiting, 1)))


def intend(now: str, waiting: int) -> Step[ReminderRequest]:
    """Build the step for the last messages, with `waiting` reminders from `with_reminders`. It leaves no memory."""
    json_schema, read_answer = structured(_Answer)

    def read(answer: str) -> ReminderRequest:
        found = read_answer(answer)
        return ReminderRequest(
            when=found.when.strip(),
            what=one_line(found.what),
            drop=tuple(dict.fromkeys(number for number in found.drop if 1 <= number <= waiting)),
            unanswered=found.unanswered,
            every=found.every.strip(),
            until=found.until.strip(),
            times=found.times,
            where="" if found.where.strip().casefold() in HERE else one_line(found.where),
            digest=found.digest,
            unknown_zone=one_line(found.unknown_zone),
        )

    return Step(
        name="intend",
        command=_COMMAND.format(now=now, waiting=_SOME_WAIT.format(count=waiting) if waiting else _NONE_WAIT),
        read=read,
        remember=lambda _: (),
        creativity=0.2,
        effort=Effort.LOW,
        json_schema=json_schema,
        placeholder='{"what": "", "when": "", "drop": []}',
        max_output_tokens=256,
    )
