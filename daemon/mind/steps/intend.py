"""The step that reads a request to set or drop reminders from a user's messages."""

from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import AfterValidator

from daemon.core.step import Step
from daemon.core.text import one_line
from daemon.core.working_memory import WorkingMemory
from daemon.mind.prompts import prompt
from daemon.mind.structured import JSONAnswer, OneLine, Stripped, structured_step
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


def _place(where: str) -> str:
    return "" if where.strip().casefold() in HERE else one_line(where)


class ReminderRequest(JSONAnswer, title="_Answer"):
    """A request: `what` to bring up, and when, all empty for nothing, and the numbers to `drop`.

    `when` and `until` are as `timeframes.due_time` reads them, `times` is the number of repetitions, 0 for no number.
    An `unanswered` reminder appears only if no reply came before. `every` is a rule as `Recurrence` reads it. `where`
    is empty for here, `me`, `channel` for this one, or another channel's name. A `digest` sums up what is said there.
    `unknown_zone` is a time zone that, as the model says, does not exist.
    """

    what: OneLine = ""
    when: Stripped = ""
    unanswered: bool = False
    every: Stripped = ""
    until: Stripped = ""
    times: int = 0
    where: Annotated[str, AfterValidator(_place)] = ""
    digest: bool = False
    unknown_zone: OneLine = ""
    drop: tuple[int, ...] = ()

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

    def take(request: ReminderRequest) -> ReminderRequest:
        numbers = dict.fromkeys(number for number in request.drop if 1 <= number <= waiting)
        return request.model_copy(update={"drop": tuple(numbers)})

    return structured_step(
        "intend",
        prompt("intend", now=now, waiting=prompt("intend_some_wait" if waiting else "intend_none_wait", count=waiting)),
        ReminderRequest,
        take,
        placeholder='{"what": "", "when": "", "drop": []}',
        max_output_tokens=256,
    )
