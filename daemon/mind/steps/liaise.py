"""Read from a user's messages what is to be put to which session of Claude Code."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict

from daemon.core.ports.services import Effort
from daemon.core.sessions import CodeSession
from daemon.core.step import Step
from daemon.core.text import one_line
from daemon.core.working_memory import WorkingMemory
from daemon.mind.reply import structured
from daemon.shared.who_works import in_short
from daemon.soul_engine import AT_WORK, with_notes

SESSIONS: Final = "sessions"
"""The region of the sessions that can be asked: data, since people named what is in it."""

_MOST_TOKENS: Final = 800
_LONGEST_NAME: Final = 80

_COMMAND: Final = """\
The person who spoke last wants something put to a session of Claude Code. Which of those under "Sessions", and what, \
by what they said since the last reply?

Answer with JSON: {"session": "…", "words": "…", "task": false}. `session` is the name before the colon; what \
they call it themselves where no name there fits, or more than one; "" if they mean none. `words` is what the session \
is to read: copy it from their own words, letter for letter, in their language, without the part by which they ask you \
to pass it on. Only where theirs can't be understood without the talk before, write it out for them. "" if there is \
nothing to read. `task` is true only if they want something done there, false for a question."""


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    session: str = ""
    words: str = ""
    task: bool = False


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """The session by a name that a model gave, which proves nothing, and the words for it, empty where there are none.

    `task`: something is to be done there.
    """

    session: str
    words: str
    task: bool = False


def with_those_to_ask(memory: WorkingMemory, sessions: Sequence[CodeSession]) -> WorkingMemory:
    """Working memory with the sessions that can be asked, a line each, as data, in place of the shorter list."""
    return with_notes(memory.without_regions(AT_WORK), SESSIONS, in_short(sessions, _MOST_TOKENS))


def liaise() -> Step[SessionRequest]:
    """What is to be put to which of the sessions prepared by `with_those_to_ask`; leaves no memory."""
    json_schema, read_answer = structured(_Answer)

    def read(answer: str) -> SessionRequest:
        found = read_answer(answer)
        return SessionRequest(one_line(found.session)[:_LONGEST_NAME].strip(" `*_\"'"), found.words.strip(), found.task)

    return Step(
        name="liaise",
        command=_COMMAND,
        read=read,
        remember=lambda _: (),
        creativity=0.2,
        effort=Effort.LOW,
        json_schema=json_schema,
        placeholder='{"session": "", "words": "", "task": false}',
        max_output_tokens=1024,
    )
