"""A problem that autonomous work is solving: its passages, what it spent, what it waits for; stored between turns."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel, ConfigDict

from daemon.core.limits import Spent
from daemon.core.perception import Readers
from daemon.core.ports.library import Passage
from daemon.core.sentences import HOUSE_WORDS, Words
from daemon.core.text import one_line, storable
from daemon.core.words import Term
from daemon.core.working_memory import Memory, WorkingMemory
from daemon.ism.excerpts import excerpts
from daemon.mind.citations import Citations, listed

MOST_FOUND = 60
"""Passages kept of one problem, as far as their bytes allow; later ones are not added."""

TEXT_CAP = 6_100
"""Characters kept of one passage: as much as is kept of a tool's output, with the note on what was left out."""

KEPT_BYTES = 256 * 1024
"""The most bytes of a problem in memory.db, whatever the length of answers and tool results."""

_SOURCE_CAP = 200  # characters
_LONGEST_PATH = 1_000  # characters; of a document with a longer one no more is read than what was found
_TEXT_BYTES, _SOURCE_BYTES = 24_000, 600  # of one passage in memory.db
_FOUND_BYTES = 140_000  # of all passages
_INTERNAL_BYTES = 110_000
_MEMORY_BYTES = 200  # of one memory, or one passage, besides its text

_NUMBERS = Citations(r"\d{1,3}")


class _Kept(BaseModel):
    """The form in memory.db; `internal` is JSON text, `found` pairs of source and text.

    `open` are the places in `found` of passages that not only members may read, `documents` those of passages of the
    library, with path and line, `of_rooms` those of passages of private rooms, `ids` those of memories.
    """

    model_config = ConfigDict(extra="forbid")

    internal: str
    found: list[tuple[str, str]]
    open: list[int] = []
    documents: dict[int, tuple[str, int]] = {}
    of_rooms: dict[int, str] = {}
    ids: dict[int, str] = {}
    members_only: bool = True
    rooms: list[str] = []
    spent: dict[str, object]
    asker: str
    asks: bool
    approval: str


@dataclass(slots=True)
class Problem:
    """The process memory of `problem_solving`; passages are numbered from one, as the reply cites them.

    `asker` is the user who has the problem, by platform id, empty if unknown. `asks` says that it waits for the answer
    to a question, `approval` is the id of an undecided question for permission. `members_only` says that members alone
    read along while it was worked on, so that what was thought may rest on what others may not know; `rooms` are the
    private rooms that they were in.
    """

    internal: WorkingMemory
    found: list[Passage] = field(default_factory=list)
    spent: Spent = Spent()  # noqa: RUF009 - a frozen value
    asker: str = ""
    asks: bool = False
    approval: str = ""
    members_only: bool = True
    rooms: frozenset[str] = frozenset()

    @property
    def waits(self) -> bool:
        """Whether it is parked until a user answers or decides."""
        return self.asks or bool(self.approval)

    @classmethod
    def resumed(cls, kept: Mapping[str, object], soul_name: str) -> "Problem":
        """Read what `to_json` gave; a new problem where that is empty or not readable."""
        try:
            read = _Kept.model_validate(dict(kept))
            return cls(
                internal=WorkingMemory.from_json(read.internal),
                found=[
                    Passage(
                        source,
                        text,
                        place not in read.open,
                        *read.documents.get(place, ("", 0)),
                        room=read.of_rooms.get(place, ""),
                        id=read.ids.get(place, ""),
                    )
                    for place, (source, text) in enumerate(read.found)
                ],
                spent=Spent.from_json(read.spent),
                asker=read.asker,
                asks=read.asks,
                approval=read.approval,
                members_only=read.members_only,
                rooms=frozenset(read.rooms),
            )
        except ValueError:
            return cls(WorkingMemory(soul_name))

    def to_json(self) -> dict[str, object]:
        """Plain values for memory.db, at most `KEPT_BYTES`: the oldest choices and observations are dropped."""
        kept = _Kept(
            internal=self.internal.replace(reversed(list(_newest(self.internal)))).to_json(),
            found=[(one.source, one.text) for one in self.found],
            open=[place for place, one in enumerate(self.found) if not one.members_only],
            documents={place: (one.document, one.line) for place, one in enumerate(self.found) if one.document},
            of_rooms={place: one.room for place, one in enumerate(self.found) if one.room},
            ids={place: one.id for place, one in enumerate(self.found) if one.id},
            members_only=self.members_only,
            rooms=sorted(self.rooms),
            spent=self.spent.to_json(),
            asker=self.asker,
            asks=self.asks,
            approval=self.approval,
        )
        return kept.model_dump(mode="json")

    def keep_for(self, readers: Readers) -> None:
        """Drop what the readers may not know: passages for members alone or of rooms that they aren't in, and the
        thoughts that may rest on them.
        """
        if (self.members_only and not readers.members_only) or not self.rooms <= readers.rooms:
            self.found = [one for one in self.found if readers.members_only or not one.members_only]
            self.found = [one for one in self.found if not one.room or one.room in readers.rooms]
            self.internal = WorkingMemory(self.internal.soul_name)
        self.members_only, self.rooms = readers.members_only, readers.rooms

    def number(self, passage: Passage) -> int:
        """Keep a passage and give the number by which it is cited; zero where there is no room for it."""
        kept = _in_form(passage)
        if kept not in self.found:
            if len(self.found) >= MOST_FOUND or sum(map(_size, (*self.found, kept))) > _FOUND_BYTES:
                return 0
            self.found.append(kept)
        return self.found.index(kept) + 1

    def add(self, passages: Sequence[Passage], terms: Sequence[Term] = ()) -> str:
        """Keep passages, each once; gives them as an observation, with the numbers by which they are cited.

        What is too long for it is shown around the words that were looked for, the `terms`.
        """
        numbers = [self.number(one) for one in dict.fromkeys(passages)]
        left_out = numbers.count(0)
        shown = excerpts([(number, self.found[number - 1]) for number in dict.fromkeys(numbers) if number], terms)
        note = f"({left_out} more were found, but nothing more is kept: work with what there is.)" if left_out else ""
        return "\n\n".join(filter(None, (shown, note)))

    @property
    def numbered(self) -> dict[str, Passage]:
        """The passages by the numbers by which a reply cites them."""
        return {str(number): one for number, one in enumerate(self.found, 1)}

    def with_sources(self, reply: str, words: Words = HOUSE_WORDS) -> str:
        """A reply with its cited sources below it; unknown numbers are removed from the text, but not from code."""
        sources = {mark: one.source for mark, one in self.numbered.items()}
        text, cited = _NUMBERS.checked(reply, sources)
        return "\n\n".join((text, listed(cited, words))) if cited else text


def _in_form(passage: Passage) -> Passage:
    """A passage as it is stored: its source on one line without backticks, its text cut."""
    source = one_line(passage.source.replace("`", "'"))
    return Passage(
        _cut(source, _SOURCE_CAP, _SOURCE_BYTES) or "somewhere",
        _cut(passage.text, TEXT_CAP, _TEXT_BYTES),
        passage.members_only,
        *((passage.document, passage.line) if len(passage.document) <= _LONGEST_PATH else ("", 0)),
        room=passage.room,
        id=passage.id,
    )


def _cut(text: str, characters: int, most: int) -> str:
    kept = storable(text[:characters])
    while (size := _bytes(kept)) > most:
        kept = kept[: len(kept) * most // size]
    return kept


def _size(passage: Passage) -> int:
    return _bytes(passage.source) + _bytes(passage.text) + _bytes(passage.document) + _MEMORY_BYTES


def _newest(internal: WorkingMemory) -> Iterator[Memory]:
    """The newest memories first, as many as fit."""
    left = _INTERNAL_BYTES
    for one in reversed(internal.memories):
        kept = replace(one, content=storable(one.content), name=storable(one.name) if one.name else one.name)
        left -= _bytes(kept.content) + _bytes(kept.name or "") + _MEMORY_BYTES
        if left < 0:
            return
        yield kept


def _bytes(text: str) -> int:
    """The most bytes of a text in memory.db: UTF-8, as JSON within JSON."""
    return len(json.dumps(json.dumps(text, ensure_ascii=False), ensure_ascii=False).encode())
