"""The admin's folders of documents and code, and the passages that are found in them."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from daemon.core.perception import ConversationKey
from daemon.core.sentences import HOUSE_WORDS, Words

_ASKING: Final = ("?", "？", "؟")  # noqa: RUF001 - the marks of three scripts are meant
_SENTENCES: Final = re.compile(r"(?<=[.!?…])\s+|(?<=[。？！])\s*|\n+")  # noqa: RUF001 - full-width marks are meant


@dataclass(frozen=True, slots=True)
class Passage:
    """A found text, as data; `source` is where a user finds it (`docs/limits.md:12`, `docs/report.pdf, page 12`).

    `document` and `line`, from 1, say where in a document of the library it stands; empty for any other text.
    `members_only`: only full members of the workspace may read it. `room` is the id of the private room that it
    comes from, where it is read elsewhere: its members alone may read it. `own` are words of the soul itself, which
    prove nothing. `fit` says how well it fits the query, comparable among all passages of one query. `id` is that of
    the memory; `significance` goes from 1 to 10, 0 where nothing is known of it; `outdated`: something later holds now;
    `when_ms` (UTC) is when it was said or came to be, 0 where that is unknown.
    Two passages are equal without these.
    """

    source: str
    text: str
    members_only: bool = field(default=True, compare=False)
    document: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)
    own: bool = field(default=False, compare=False)
    fit: float = field(default=0.0, compare=False)
    room: str = field(default="", compare=False)
    id: str = field(default="", compare=False)
    significance: int = field(default=0, compare=False)
    tone: str = field(default="", compare=False)
    outdated: bool = field(default=False, compare=False)
    when_ms: int = field(default=0, compare=False)

    @property
    def only_asks(self) -> bool:
        said = self.id.startswith("TU_")
        return said and all(one.endswith(_ASKING) for one in map(str.strip, _SENTENCES.split(self.text)) if one)

    @property
    def names_hosts(self) -> bool:
        """Whether a reply may link to the hosts in it: in the admin's documents, and in what people said here.

        What was noted of other texts, a file's for one, promises nothing.
        """
        said = self.id.startswith("TU_") and not self.own
        return bool(self.document) or (said and not self.members_only)


@dataclass(frozen=True, slots=True)
class IndexedPassage:
    """A passage of a file: the `line` where it begins; in a document its number, and `place` says where ("page 12")."""

    line: int
    body: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file by its path as cited; `fault` says why it is not read, or not to its end, and what to do about it."""

    path: str
    stamp: str
    passages: Sequence[IndexedPassage]
    fault: str = ""


class PassageIndex(Protocol):
    """The stored passages of the library's files. Every method may raise StoreError."""

    async def stamps(self) -> Mapping[str, str]:
        """The stamp of every file by its path."""

    async def put(self, files: Sequence[IndexedFile]) -> None:
        """Store files in place of their earlier versions; one that is cut off has no stamp until it is put again."""

    async def remove(self, paths: Collection[str]) -> None:
        """Remove files; one that is cut off has no stamp."""

    async def search(self, query: str, limit: int, *, folders: Collection[str] | None = None) -> tuple[Passage, ...]:
        """The passages that fit best, best first; with `folders` those below these alone."""

    async def read_on(self, document: str, line: int, most: int) -> tuple[Passage, ...]:
        """The passages of a document from the one that begins at a line on; empty when there is none."""


class Library(Protocol):
    """The admin's folders of documents and code, for full members of the workspace; a part may be open to all."""

    @property
    def folders(self) -> Mapping[str, int]:
        """How many documents each folder holds, by its name; folders without any are left out."""

    async def search(self, query: str, limit: int) -> tuple[Passage, ...]:
        """The best passages, best first; empty when none fits. Raises StoreError."""

    async def read_on(self, document: str, line: int, most: int) -> tuple[Passage, ...]:
        """The passages of a document from a line on, in its order; empty when it is gone or not to be read here.

        Raises StoreError.
        """


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


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of an MCP server; `name` is unique (`server/tool`), `parameters` is a JSON schema.

    `writes` says that it may change or disclose something outside, so that a user has to approve each call; `destroys`
    that it says so of itself. `approvers` may approve it, by platform id; without any, those of the settings may.
    `fingerprint` stands for all that the tool says of itself; it changes with any of it.
    """

    name: str
    description: str
    parameters: Mapping[str, object]
    writes: bool
    fingerprint: str
    destroys: bool = False
    approvers: tuple[str, ...] = ()


class Toolbox(Protocol):
    """The tools of the admin's MCP servers."""

    @property
    def known(self) -> tuple[Tool, ...]:
        """The tools that the connected servers listed last; asks no server."""

    async def tools(self) -> tuple[Tool, ...]:
        """The tools that are available now; an unreachable server is left out and logged."""

    async def use(self, name: str, arguments: Mapping[str, object], fingerprint: str) -> Passage:
        """Call a tool once, if it still has the fingerprint with which it was chosen or allowed.

        Raises ToolFailed; `uncertain` when it may have taken effect nevertheless.
        """


class ToolRecords(Protocol):
    """What each tool said of itself when the admin came to trust it."""

    async def changed(self, server: str, offered: Sequence[Tool]) -> Collection[str]:
        """Record what a server offers; gives the names of the tools that say something else than before.

        A tool seen for the first time counts as known. Raises StoreError.
        """
