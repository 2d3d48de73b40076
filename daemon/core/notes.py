"""Notes to souls and to sessions, as values: what one says and where it stands, and what is refused (seed 003)."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from daemon.core.errors import DaemonError
from daemon.core.perception import Audience

LONGEST: Final = 8_000
"""The most characters of a note."""

SOUL_CHANNEL: Final = "soul"
"""The channel of the conversations in which a soul hears other souls."""

MARK: Final = "NT_"
"""How the id of a note begins."""

NOTE_PARAM: Final = "note"
"""The param of a perception that names the note which it is."""

FROM_PARAM: Final = "from"
"""The param of a note's perception that names its sender."""


class NoteRefused(DaemonError):
    """A note that may not be sent; nothing was sent."""


class NoteKind(StrEnum):
    """What a note is; an answer goes back to the conversation in which the question was sent.

    A `QUESTION` and a `TASK` are for a session: a question changes nothing there. `SAID` is what a session says of
    itself in the thread that is bound to it.
    """

    NOTE = "note"
    ANSWER = "answer"
    QUESTION = "question"
    TASK = "task"
    SAID = "said"


class NoteState(StrEnum):
    """Where a note stands."""

    HELD = "held"
    WAITING = "waiting"
    DELIVERED = "delivered"
    ANSWERED = "answered"
    REFUSED = "refused"
    EXPIRED = "expired"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class NoteBudget:
    """How many notes go between two souls, either way, and from one soul; and how far from a person's words.

    A note and the answer to it count as one.
    """

    pair_hourly: int = 20
    pair_minutely: int = 3
    soul_daily: int = 100
    hops: int = 4


@dataclass(frozen=True, slots=True)
class SharedMessage:
    """A note as it stands in the ledger.

    `sender` and `addressee` are names of souls, `operator` for the admin, or the id of a session. It comes from
    `conversation` (empty for the admin's) and is perceived in `heard_in`; `audience` may know its words. `hops` counts
    from the words of the person `behalf`; `answers` is the note that it answers. `how` is the way by which it was
    perceived.

    The fields after `words` are of notes to a session, and of its answers: `owner` is whose it is, `called` its name
    when it was asked, `asker` the name of the person `behalf`, `reply_to` the thread in which the answer is read.
    `bound`: it goes to the session because its thread is bound to it, and nobody was asked.
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
    """The words of a note. Raises NoteRefused for none, too many, and what is no text."""
    words = text.strip()
    if not words:
        raise NoteRefused("the note is empty", hint="write what it has to say")
    if len(words) > LONGEST:
        raise NoteRefused(f"the note has {len(words)} characters; {LONGEST} are the most", hint="say it in short")
    if _NO_TEXT.search(words):
        raise NoteRefused("the note holds a character that is no text", hint="write plain text in Unicode")
    return words


_NO_TEXT: Final = re.compile(r"[\x00\ud800-\udfff]")
