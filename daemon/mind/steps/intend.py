"""The step that reads a request to set or drop reminders from a user's messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict

from daemon.core.ports.services import Effort
from daemon.core.step import Step
from daemon.core.text import one_line
from daemon.core.working_memory import WorkingMemory
from daemon.mind.prompts import prompt
from daemon.mind.reply import structured
from daemon.soul_engine import with_notes

REMINDERS = "reminders"
"""The region of pending reminders: data, since users worded them."""

HERE: Final = frozenset({"", "here", "thread"})
"""The words of a model for the conversation itself."""

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
        command=prompt(
            "intend", now=now, waiting=prompt("intend_some_wait" if waiting else "intend_none_wait", count=waiting)
        ),
        read=read,
        remember=lambda _: (),
        creativity=0.2,
        effort=Effort.LOW,
        json_schema=json_schema,
        placeholder='{"what": "", "when": "", "drop": []}',
        max_output_tokens=256,
    )
