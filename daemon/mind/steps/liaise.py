"""The step that reads which session of Claude Code a user wants to ask what."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict

from daemon.core.ports.services import Effort
from daemon.core.sessions import CodeSession
from daemon.core.step import Step
from daemon.core.text import one_line
from daemon.core.working_memory import WorkingMemory
from daemon.mind.prompts import prompt
from daemon.mind.reply import structured
from daemon.shared.who_works import in_short
from daemon.soul_engine import AT_WORK, with_notes

SESSIONS: Final = "sessions"
"""The region of the sessions that can be asked: data, since people wrote their names."""

_MOST_TOKENS: Final = 800
_LONGEST_NAME: Final = 80


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    session: str = ""
    words: str = ""
    task: bool = False


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """The session's name as a model gave it, which proves nothing, and the words for the session, empty for none.

    `task`: the user wants something done there.
    """

    session: str
    words: str
    task: bool = False


def with_those_to_ask(memory: WorkingMemory, sessions: Sequence[CodeSession]) -> WorkingMemory:
    """Add the sessions that can be asked, a line each, as data, in place of the shorter list."""
    return with_notes(memory.without_regions(AT_WORK), SESSIONS, in_short(sessions, _MOST_TOKENS))


def liaise() -> Step[SessionRequest]:
    """Build the step for sessions prepared by `with_those_to_ask`. It leaves no memory."""
    json_schema, read_answer = structured(_Answer)

    def read(answer: str) -> SessionRequest:
        found = read_answer(answer)
        return SessionRequest(one_line(found.session)[:_LONGEST_NAME].strip(" `*_\"'"), found.words.strip(), found.task)

    return Step(
        name="liaise",
        command=prompt("liaise"),
        read=read,
        remember=lambda _: (),
        creativity=0.2,
        effort=Effort.LOW,
        json_schema=json_schema,
        placeholder='{"session": "", "words": "", "task": false}',
        max_output_tokens=1024,
    )
