"""What leaves: the posts of the outbox, and replies as they are stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from daemon.core.perception import ConversationKey
from daemon.core.sentences import HOUSE_WORDS, Words


@dataclass(frozen=True, slots=True)
class Nod:
    """An answer without words: a reaction, by the name of its emoji, at the message `ts`."""

    name: str
    ts: str


@dataclass(frozen=True, slots=True)
class Post:
    """One row of the outbox: one message that must be visible exactly once.

    `key` is unique and is sent in the message's metadata. `body` is markdown, at most one message long. `reply_to` is
    the ts of the thread to post in, empty for the timeline. `recipient` is the user whom it answers. `draft` is the
    platform's id of a message that shows part of the text already and has to be finished instead of posted anew. A
    message with this key is surely newer than `newer_than_ts`. `draft_lost` says that a draft may exist whose id was
    lost. `last` marks the final part of a reply. `approval` is the id of the request whose buttons it carries.
    `revises` is the platform's id of an earlier post whose text and buttons this one replaces; doing so twice changes
    nothing more. `words` are those of its buttons. `file`: the body is sent as a file of this name, which no
    other post has; where it can't be, what stands in it as markdown is posted. `closes`: the draft is kept as it
    stands, and the body, which may be empty, comes below it. `dates` are times as they read in the body, with their
    moments (ms, UTC): each reader may see them on their own clock. `answers` are those that the recipient may give to
    the question by a button. `withdrawn`: what stands of it, or of the post that it revises, is deleted.
    `note`: it says that an answer, or what was to be done, came to nothing. `nod`: it is that reaction and no message;
    a draft is deleted.
    """

    key: str
    conversation: ConversationKey
    body: str
    reply_to: str
    recipient: str
    newer_than_ts: str
    part: int = 0
    last: bool = True
    draft: str | None = None
    draft_lost: bool = False
    approval: str | None = None
    revises: str | None = None
    words: Words = HOUSE_WORDS
    file: str = ""
    closes: bool = False
    dates: Mapping[str, int] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    withdrawn: bool = False
    note: bool = False
    nod: Nod | None = None


@dataclass(frozen=True, slots=True)
class ReplyFile:
    """A part of a reply that is sent as a file: its name, which no other post has, and the markdown that it was."""

    name: str
    body: str


AttachedReply = tuple[str, tuple[ReplyFile, ...]]
"""The words of a reply, and what is sent as files behind them."""


@dataclass(frozen=True, slots=True)
class FoundPost:
    """A post found in the platform's history: its id, and whether it is finished or only a draft."""

    ts: str
    finished: bool


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A message, found by the id that the sending program gave it, and the stored reply to it.

    `ts` and `message` are the message's, `state` that of its inbox row. Once it is `settled`, `parts` are the reply's
    parts in order; none means that there is no reply. `apology`: they say why the message could not be answered.
    """

    ts: str
    message: str
    state: str
    settled: bool
    parts: tuple[str, ...] = ()
    apology: bool = False
