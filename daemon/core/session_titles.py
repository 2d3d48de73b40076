"""Titles of sessions: a few of the first words that a person said there, and nothing else."""

import re
from typing import Final

from daemon.core.text import shortened, visible_line

LONGEST: Final = 60
"""Characters of a title; Slack takes 200."""

_ENOUGH: Final = 12  # characters of a sentence that stands alone; a shorter one, as a greeting, takes the next with it
_QUOTED: Final = re.compile(r"^[ \t]*(?:>|\[[^\]\n]*\][ \t]*$).*$", re.MULTILINE)  # others' words, and names of files
_CODE: Final = re.compile(r"(`{3,}|~{3,}).*?(?:\1|\Z)", re.DOTALL)
_MENTION: Final = re.compile(r"<[@!#][^<>\n]{0,200}>")
_ADDRESS: Final = re.compile(r"(?:https?://|mailto:)([^\s/?#)>]{1,200})[^\s)>]*")
_MARKS: Final = re.compile(r"[*`~|]+|(?<!\w)_+|_+(?!\w)")
_END: Final = re.compile("(?<=[.!?…])\\s+|(?<=[\u3002\uff01\uff1f])|\\n+")


def title_of(said: str) -> str:
    """The title of a session that begins with these words; empty where none of them are the person's own."""
    own = _QUOTED.sub("", _CODE.sub("\n", said))
    own = _MARKS.sub("", _ADDRESS.sub(r"\1", _MENTION.sub("", own)))
    sentences = [line for part in _END.split(own) if (line := visible_line(part))]
    title = ""
    for sentence in sentences:
        title = f"{title} {sentence}".strip()
        if len(title) >= _ENOUGH:
            break
    return _cut(title.rstrip(" .,;:-"))


def _cut(line: str) -> str:
    """A line cut between words, where its last word is not most of it."""
    if len(line) <= LONGEST:
        return line
    head = line[:LONGEST].rpartition(" ")[0].rstrip(" .,;:-")
    return f"{head}…" if len(head) >= LONGEST // 2 else shortened(line, LONGEST)
