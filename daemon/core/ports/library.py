"""The admin's folders of documents and code, and the passages that are found in them."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

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
        """Whether it is what a user asked in talk, and nothing else: a question proves nothing."""
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
