"""The overview of sessions at work: names, projects, branches and states; never a path or a prompt."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from daemon.core.sentences import Words
from daemon.core.sessions import CodeSession, SessionState, Visibility
from daemon.core.text import shortened, visible_line
from daemon.core.working_memory import estimate_tokens

_MOST: Final = 40  # sessions in one list
_NAME, _TOPIC = 60, 120  # characters
_STATES: Final = {
    SessionState.WORKING: "work_working",
    SessionState.IDLE: "work_idle",
    SessionState.WAITS: "work_waits",
}


def listed(sessions: Sequence[CodeSession], words: Words) -> str:
    """Return the list that users see, by project."""
    if not sessions:
        return words.say("work_none")
    lines = [words.say("work_head")]
    for project, some in groupby(sessions[:_MOST], key=lambda one: one.project):
        lines.append(f"\n*{_bare(project) or '-'}*")
        lines += [f"- {_line(one, words)}" for one in some]
    if len(sessions) > _MOST:
        lines.append("\n" + words.say("work_more", count=len(sessions) - _MOST))
    return "\n".join(lines)


def listed_of(name: str, sessions: Sequence[CodeSession], words: Words) -> str:
    """Return the list for a person, by name, first name or platform id, or for the session of this name."""
    found = [one for one in sessions if is_of(one, name)]
    return listed(found, words) if found else words.say("work_none_of", name=_bare(name.strip("<@>")))


def in_short(sessions: Sequence[CodeSession], tokens: int) -> str:
    """Return a line for each session, as many as fit into these tokens, working and waiting ones first."""
    lines, left = list[str](), tokens - _REST_TOKENS
    for one in sorted(sessions, key=lambda one: one.state is SessionState.IDLE):
        line = _in_short(one)
        if (size := estimate_tokens(line) + 1) > left:
            break
        lines.append(line)
        left -= size
    if len(lines) < len(sessions):
        lines.append(f"and {len(sessions) - len(lines)} more")
    return "\n".join(lines)


_REST_TOKENS: Final = 8  # for the line that counts the rest


def _in_short(one: CodeSession) -> str:
    who = _bare(one.person_name) if one.person else "the admin"
    where = f", branch {_bare(one.branch)}" if one.branch else ""
    state = "waits for an answer" if one.state is SessionState.WAITS else str(one.state)
    topic = f" ({_topic(one)})" if _topic(one) else ""
    return f"{_bare(one.name)}: {who}{where}, {state}{topic}"


def _line(one: CodeSession, words: Words) -> str:
    who = _bare(one.person_name) if one.person else words.say("work_admin")
    facts = {"who": who, "session": _bare(one.name), "state": words.say(_STATES[one.state])}
    line = words.say("work_on", branch=_bare(one.branch), **facts) if one.branch else words.say("work_without", **facts)
    topic = _topic(one)
    return words.say("work_topic", line=line, topic=topic) if topic else line


def _topic(one: CodeSession) -> str:
    return _bare(one.topic, _TOPIC) if one.visibility is Visibility.TOPIC else ""


def _bare(text: str, most: int = _NAME) -> str:
    return shortened(visible_line(text).translate(_MARKS), most)


_MARKS: Final = dict.fromkeys(map(ord, "`*<>[]"))


def is_of(one: CodeSession, name: str) -> bool:
    """Return true if a name, a word of it, a mention or a platform id means the session or its owner."""
    asked, person = name.strip("<@>").casefold(), one.person_name.casefold()
    return bool(asked) and asked in {one.name.casefold(), one.person.casefold(), person, *person.split()}
