"""Questions and tasks to sessions of Claude Code, threads bound to sessions, and titles of sessions."""

import re
from enum import StrEnum
from typing import Final

from daemon.core.perception import Modality, Perception
from daemon.core.telemetry.redaction import remove_keys
from daemon.core.text import shortened, visible_line
from daemon.core.value import Value

MOST_WAITING: Final = 10
"""Questions of one session that are neither answered nor over, at most."""

MOST_HOURLY: Final = 20
"""Questions to one session in an hour, at most."""

LATE_MS: Final = 5 * 60_000
"""Milliseconds without an answer after which the thread is informed, once."""

OVER_MS: Final = 24 * 3_600_000
"""Milliseconds after which a question is over."""

LONGEST_ANSWER: Final = 16_000
"""Characters of an answer, at most."""

WOKEN_WITHIN_MS: Final = 10_000
"""Milliseconds within which a woken session must begin a turn. Otherwise the note counts as not delivered."""

WAKE_AGAIN_MS: Final = 60_000
"""Milliseconds after which an idle session may be woken again with the same note."""

MOST_WAKES: Final = 3
"""Times that a session is woken with the same note. Then the note waits for the end of a turn."""

_LONGEST_KEY: Final = 4_000  # characters; none is cut in half where the words after it are left out

BUTTON: Final = "asking-"
"""The prefix of the id of an approval that lets a question through. The note's id follows."""

NEWS_PARAM: Final = "news"
"""The param of an event that reports on a question."""


class News(StrEnum):
    """The news on a question for those who wait for its answer, and on bound threads."""

    ALLOWED = "allowed"
    REFUSED = "refused"
    EXPIRED = "expired"  # its owner did not decide in time
    LATE = "late"
    GONE = "gone"
    OVER = "over"
    ANSWER = "answer"
    SAID = "said"  # a session says something of itself
    BIND = "bind"  # a thread will be bound to a session, once its owner allows it
    BOUND = "bound"  # the owner allowed it


def is_news(perception: Perception) -> bool:
    """Return true if it reports on a question or lets one through: the daemon itself passes it on."""
    if perception.modality is Modality.DECISION:
        return str(perception.params.get("approval", "")).startswith(BUTTON)
    return perception.modality is Modality.NOTE and NEWS_PARAM in perception.params


def clean_answer(text: str) -> str:
    """Return a session's answer without keys and invalid characters, cut. Empty where nothing is left."""
    looked_at = LONGEST_ANSWER + _LONGEST_KEY
    if len(text) > looked_at:  # the rest is cut anyway, and looking through all of it would hold the event loop
        gap = text.rfind(" ", LONGEST_ANSWER, looked_at)  # not every language has one
        text = text[: looked_at if gap < 0 else gap]
    return shortened(remove_keys(_NO_TEXT.sub("", text.replace("\r\n", "\n"))).strip(), LONGEST_ANSWER)


_NO_TEXT: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


KEPT_MS: Final = 24 * 3_600_000
"""Milliseconds for which words in a bound thread wait for a session that is gone. Then the soul answers again."""

MOST_SAID_HOURLY: Final = 60
"""Messages of themselves that the sessions of one key may post in an hour."""

LONGEST_SAID: Final = 4_000
"""Characters of one message of a session about itself, at most."""


class BoundThread(Value):
    """A conversation that is bound to a session of `person`, a Slack id; empty for the admin's.

    Words of `person` go to the session, with `everybody` those of others too. `gone_ms` is when the session was
    reported gone; None while it is there.
    """

    conversation: str
    session: str
    person: str
    everybody: bool
    bound_ms: int
    gone_ms: int | None = None

    def takes(self, perception: Perception) -> bool:
        """Return true if a message goes to the session: words of its owner, or of any person where all may."""
        if perception.modality is not Modality.WORDS or perception.bot:
            return False
        return self.everybody or (bool(self.person) and perception.author == self.person)


LONGEST: Final = 60
"""Characters of a title, at most. Slack takes 200."""

_ENOUGH: Final = 12  # characters of a sufficient sentence; a shorter one, such as a greeting, takes the next with it
_QUOTED: Final = re.compile(r"^[ \t]*(?:>|\[[^\]\n]*\][ \t]*$).*$", re.MULTILINE)  # others' words, and names of files
_CODE: Final = re.compile(r"(`{3,}|~{3,}).*?(?:\1|\Z)", re.DOTALL)
_MENTION: Final = re.compile(r"<[@!#][^<>\n]{0,200}>")
_ADDRESS: Final = re.compile(r"(?:https?://|mailto:)([^\s/?#)>]{1,200})[^\s)>]*")
_MARKS: Final = re.compile(r"[*`~|]+|(?<!\w)_+|_+(?!\w)")
_END: Final = re.compile("(?<=[.!?…])\\s+|(?<=[\u3002\uff01\uff1f])|\\n+")


def title_of(said: str) -> str:
    """Return the title of a session that begins with these words. Empty where none of them are the person's own."""
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
    """Cut a line between words, unless its last word is most of it."""
    if len(line) <= LONGEST:
        return line
    head = line[:LONGEST].rpartition(" ")[0].rstrip(" .,;:-")
    return f"{head}…" if len(head) >= LONGEST // 2 else shortened(line, LONGEST)
