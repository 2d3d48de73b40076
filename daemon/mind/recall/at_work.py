"""Who is at work now, in the prompt's region `at_work`: the sessions of Claude Code, a line each."""

from collections.abc import Sequence

from daemon.core.lineage import author_id, session_id
from daemon.core.sessions import CodeSession
from daemon.core.working_memory import WorkingMemory
from daemon.shared.who_works import in_short
from daemon.soul_engine import AT_WORK, with_notes

_FRAME = 45  # tokens of the heading and the fence
_ABOUT = "sessions of Claude Code that run now"


def with_sessions(memory: WorkingMemory, sessions: Sequence[CodeSession], tokens: int) -> WorkingMemory:
    """Put the sessions as a note that takes at most these tokens with its heading and its fence."""
    if not sessions:
        return memory
    ids = [name for one in sessions for name in (session_id(one.id), author_id(one.workspace, one.person))]
    return with_notes(memory, AT_WORK, in_short(sessions, tokens - _FRAME), about=_ABOUT, seen=ids)
