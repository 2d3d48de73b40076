"""Notes to souls and sessions, and their limits (seed 003)."""

import re
from enum import StrEnum
from typing import Final

from daemon.core.errors import DaemonError
from daemon.core.perception import Audience
from daemon.core.value import Value

LONGEST: Final = 8_000
"""Characters of a note, at most."""

SOUL_CHANNEL: Final = "soul"
"""The channel id of the conversations in which a soul hears other souls."""

MARK: Final = "NT_"
"""The prefix of a note's id."""

NOTE_PARAM: Final = "note"
"""The param of a perception that holds the id of its note."""

FROM_PARAM: Final = "from"
"""The param of a note's perception that holds its sender."""


class NoteRefused(DaemonError):
    """Raised when a note may not be sent. Nothing was sent."""


class NoteKind(StrEnum):
    """The kinds of notes. An answer goes back to the conversation that sent the question.

    `QUESTION` and `TASK` go to a session; a question changes nothing there. `SAID` is what a session says of itself in
    the thread that is bound to it.
    """

    NOTE = "note"
    ANSWER = "answer"
    QUESTION = "question"
    TASK = "task"
    SAID = "said"


class NoteState(StrEnum):
    HELD = "held"
    WAITING = "waiting"
    DELIVERED = "delivered"
    ANSWERED = "answered"
    REFUSED = "refused"
    EXPIRED = "expired"
    DROPPED = "dropped"


class NoteBudget(Value):
    """The most notes between two souls, and from one soul. `hops` limits the distance from a person's words.

    A note and its answer count as one.
    """

    pair_hourly: int = 20
    pair_minutely: int = 3
    soul_daily: int = 100
    hops: int = 4


class SharedMessage(Value):
    """The row of a note in the ledger.

    `sender` and `addressee` are names of souls, `operator` for the admin, or the id of a session.
    `conversation` is where it was sent from (empty for the admin's), `heard_in` where it is perceived.
    `audience` may know its words. `hops` counts from the words of the person `behalf`.
    `answers` is the note that it answers. `how` is the way in which it was perceived.

    The fields after `words` are for notes to a session and its answers. `owner` is the session's owner.
    `called` is the session's name at that time, `asker` the name of the person `behalf`.
    `reply_to` is the thread of the answer. `bound`: the thread is bound to the session, so no approval was needed.
    """

    id: str
    kind: NoteKind
    sender: str
    addressee: str
    workspace: str
    conversation: str
    heard_in: str
    behalf: str
    audience: Audience
    hops: int
    answers: str
    state: NoteState
    reason: str
    how: str
    created_ms: int
    delivered_ms: int | None
    answered_ms: int | None
    words: str
    owner: str = ""
    called: str = ""
    asker: str = ""
    reply_to: str = ""
    bound: bool = False


def checked_words(text: str) -> str:
    """Return the stripped words of a note. Raises NoteRefused for none, too many, and invalid characters."""
    words = text.strip()
    if not words:
        raise NoteRefused("the note is empty", hint="write what it has to say")
    if len(words) > LONGEST:
        raise NoteRefused(f"the note has {len(words)} characters; {LONGEST} are the most", hint="say it in short")
    if _NO_TEXT.search(words):
        raise NoteRefused("the note holds a character that is no text", hint="write plain text in Unicode")
    return words


_NO_TEXT: Final = re.compile(r"[\x00\ud800-\udfff]")
