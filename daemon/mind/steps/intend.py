"""Read a request to set or drop reminders from a user's messages."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from daemon.core.ports import Effort
from daemon.core.step import Step
from daemon.core.text import one_line
from daemon.core.working_memory import WorkingMemory
from daemon.mind.structured_reply import structured
from daemon.soul_engine import with_notes

REMINDERS = "reminders"
"""The region of pending reminders: data, since users worded them."""

_COMMAND = """\
What reminder does the person who spoke last want set or dropped, in what they said since the last reply? For \
them it is {now}. \
{count} reminders wait in this conversation; they stand, numbered, under "Reminders".

Answer with JSON: {{"when": "…", "what": "…", "drop": [numbers]}}. `when` is either a span from now like "in 20m", \
"in 2h30m", "in 3 days", or a moment on their own clock like "2026-03-01T09:00"; `what` is what to bring up, in a \
few words, in their language. Leave both "" where nothing is to be set, or where no time can be made out. `drop` \
lists the numbers of those to drop, [] for none."""


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    when: str = ""
    what: str = ""
    drop: list[int] = []


@dataclass(frozen=True, slots=True)
class ReminderRequest:
    """`what` to bring up and `when`, as `timetable.when` reads it, both empty for nothing; numbers to `drop`."""

    when: str = ""
    what: str = ""
    drop: tuple[int, ...] = ()


def with_reminders(memory: WorkingMemory, waiting: Sequence[str]) -> WorkingMemory:
    """Working memory with the pending reminders, one numbered line each, as data."""
    return with_notes(memory, REMINDERS, "\n".join(f"{number}. {line}" for number, line in enumerate(waiting, 1)))


def intend(now: str, waiting: int) -> Step[ReminderRequest]:
    """The request in the last messages, beside `waiting` reminders prepared by `with_reminders`; leaves no memory."""
    json_schema, read_answer = structured(_Answer)

    def read(answer: str) -> ReminderRequest:
        found = read_answer(answer)
        drop = tuple(dict.fromkeys(number for number in found.drop if 1 <= number <= waiting))
        return ReminderRequest(found.when.strip(), one_line(found.what), drop)

    return Step(
        name="intend",
        command=_COMMAND.format(now=now, count=waiting),
        read=read,
        remember=lambda _: (),
        creativity=0.2,
        effort=Effort.LOW,
        json_schema=json_schema,
        placeholder='{"when": "", "what": "", "drop": []}',
        max_output_tokens=256,
    )
