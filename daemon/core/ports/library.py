"""The library of the admin's documents and its passages, posts of the outbox, and the tools of MCP servers."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import msgspec

from daemon.core.perception import ConversationKey
from daemon.core.sentences import HOUSE_WORDS, Words
from daemon.core.value import Value

_ASKING: Final = ("?", "？", "؟")  # noqa: RUF001 - the marks of three scripts are meant
_SENTENCES: Final = re.compile(r"(?<=[.!?…])\s+|(?<=[。？！])\s*|\n+")  # noqa: RUF001 - full-width marks are meant


@dataclass(frozen=True, slots=True)
class Passage:
    """A found text, as data. `source` is where a user finds it (`docs/limits.md:12`, `docs/report.pdf, page 12`).

    `document` and `line`, from 1, are the place in a document of the library; empty for any other text.
    `members_only`: only full members of the workspace may read it. `room` is the id of its private room, when read
    elsewhere: only members of that room may read it. `own`: words of the soul itself, which prove nothing.
    `fit` is its fit to the query, comparable among all passages of one query. `id` is the memory's.
    `significance` goes from 1 to 10, 0 if unknown. `outdated`: something later holds now.
    `when_ms` (UTC) is its time, 0 if unknown. Only `source` and `text` count for equality.
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
        """Return true if a reply may link to its hosts: for the admin's documents, and for public words of people.

        Notes on other texts, such as a user's file, don't count.
        """
        said = self.id.startswith("TU_") and not self.own
        return bool(self.document) or (said and not self.members_only)


class IndexedPassage(Value):
    """A passage of a file. `line` is where it begins; in a document its number, and `place` names it ("page 12")."""

    line: int
    body: str
    place: str = ""


class IndexedFile(Value):
    """A file by its cited path. `fault` says why it is not read, or not to its end, and what to do about it."""

    path: str
    stamp: str
    passages: Sequence[IndexedPassage]
    fault: str = ""


class PassageIndex(Protocol):
    """The stored passages of the library's files. Every method may raise StoreError."""

    async def stamps(self) -> Mapping[str, str]:
        """Return the stamp of every file by its path."""

    async def put(self, files: Sequence[IndexedFile]) -> None:
        """Store files in place of earlier versions. An interrupted file has no stamp until the next put."""

    async def remove(self, paths: Collection[str]) -> None:
        """Remove files. An interrupted removal leaves no stamp."""

    async def search(self, query: str, limit: int, *, folders: Collection[str] | None = None) -> tuple[Passage, ...]:
        """Return the best passages, best first. With `folders`, only those below them."""

    async def read_on(self, document: str, line: int, most: int) -> tuple[Passage, ...]:
        """Return the passages of a document from the one that begins at a line on. Empty if there is none."""


class Library(Protocol):
    """The admin's folders of documents and code, for full members of the workspace. A part may be open to all."""

    @property
    def folders(self) -> Mapping[str, int]:
        """Return the number of documents of each non-empty folder, by name."""

    async def search(self, query: str, limit: int) -> tuple[Passage, ...]:
        """Return the best passages, best first; empty when none fits. Raises StoreError."""

    async def read_on(self, document: str, line: int, most: int) -> tuple[Passage, ...]:
        """Return the passages of a document from a line on, in order. Empty if it is gone or may not be read here.

        Raises StoreError.
        """


class ReactionReply(Value):
    """An answer without words: a reaction, by the name of its emoji, at the message `ts`."""

    name: str
    ts: str


class Post(Value):
    """A row of the outbox: one message that must be visible exactly once.

    `key` is unique and is sent in the message's metadata. `body` is markdown, at most one message long.
    `reply_to` is the ts of the thread to post in, empty for the timeline. `recipient` is the user it answers.
    `draft` is the platform's id of a message that shows a part of the text, to be finished.
    A message with this key is surely newer than `newer_than_ts`. `draft_lost`: a draft may exist whose id was lost.
    `last` marks the final part of a reply. `approval` is the id of the request whose buttons it carries.
    `revises` is the platform's id of an earlier post whose text and buttons this one replaces; repeating that is safe.
    `words` are those of its buttons. `file`: the body is sent as a file of this unique name, else posted as markdown.
    `closes`: the draft stays as it is, and the body, which may be empty, comes below it.
    `dates` are times as they read in the body, with their moments (ms, UTC), for display on each reader's own clock.
    `answers` are the recipient's possible answers, by button. `withdrawn`: its draft or revised post is deleted.
    `note`: it reports that an answer or an action failed. `nod`: it is that reaction and no message; a draft is
    deleted.
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
    dates: Mapping[str, int] = msgspec.field(default_factory=dict)
    answers: tuple[str, ...] = ()
    withdrawn: bool = False
    note: bool = False
    nod: ReactionReply | None = None


class ReplyFile(Value):
    """A part of a reply that is sent as a file: its unique name, and its markdown."""

    name: str
    body: str


AttachedReply = tuple[str, tuple[ReplyFile, ...]]
"""The words of a reply, and the files sent after them."""


class FoundPost(Value):
    """A post found in the platform's history: its id, and whether it is finished or only a draft."""

    ts: str
    finished: bool


class StoredReply(Value):
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


class Tool(Value):
    """A tool of an MCP server. `name` is unique (`server/tool`), `parameters` is a JSON schema.

    `writes`: it may change or disclose something outside, and a user has to approve each call. `destroys`: it says so
    itself. `approvers` may approve it, by platform id; if empty, those of the settings may. `fingerprint` covers the
    whole description of the tool and changes with any of it.
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
        """Return the tools that the connected servers listed last. Asks no server."""

    async def tools(self) -> tuple[Tool, ...]:
        """Return the tools that are available now. An unreachable server is left out and logged."""

    async def use(self, name: str, arguments: Mapping[str, object], fingerprint: str) -> Passage:
        """Call a tool once, if it still has the fingerprint with which it was chosen or approved.

        Raises ToolFailed; `uncertain` when the call may have taken effect nevertheless.
        """


class ToolRecords(Protocol):
    """The descriptions of tools at the time when the admin began to trust them."""

    async def changed(self, server: str, offered: Sequence[Tool]) -> Collection[str]:
        """Record a server's offer. Return the names of the tools whose description changed.

        A tool seen for the first time counts as known. Raises StoreError.
        """
