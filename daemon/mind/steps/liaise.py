"""The step that reads which session of Claude Code a user wants to ask what."""

from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import AfterValidator

from daemon.core.sessions import CodeSession
from daemon.core.step import Step
from daemon.core.text import one_line
from daemon.core.working_memory import WorkingMemory
from daemon.mind.prompts import prompt
from daemon.mind.structured import JSONAnswer, Stripped, as_it_is, structured_step
from daemon.shared.who_works import in_short
from daemon.soul_engine import AT_WORK, with_notes

SESSIONS: Final = "sessions"
"""The region of the sessions that can be asked: data, since people wrote their names."""

_MOST_TOKENS: Final = 800
_LONGEST_NAME: Final = 80


def _name(text: str) -> str:
    return one_line(text)[:_LONGEST_NAME].strip(" `*_\"'")


class SessionRequest(JSONAnswer, title="_Answer"):
    """The session's name as a model gave it, which proves nothing, and the words for the session, empty for none.

    `task`: the user wants something done there.
    """

    session: Annotated[str, AfterValidator(_name)] = ""
    words: Stripped = ""
    task: bool = False


def with_those_to_ask(memory: WorkingMemory, sessions: Sequence[CodeSession]) -> WorkingMemory:
    """Add the sessions that can be asked, a line each, as data, in place of the shorter list."""
    return with_notes(memory.without_regions(AT_WORK), SESSIONS, in_short(sessions, _MOST_TOKENS))


def liaise() -> Step[SessionRequest]:
    """Build the step for sessions prepared by `with_those_to_ask`. It leaves no memory."""
    return structured_step(
        "liaise",
        prompt("liaise"),
        SessionRequest,
        as_it_is,
        placeholder='{"session": "", "words": "", "task": false}',
        max_output_tokens=1024,
    )
