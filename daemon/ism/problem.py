"""A problem that autonomous work is solving: its passages, what it spent, what it waits for; stored between turns."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel, ConfigDict

from daemon.core.limits import Spent
from daemon.core.perception import Readers
from daemon.core.ports import Passage
from daemon.core.text import one_line, storable
from daemon.core.working_memory import Memory, WorkingMemory

MOST_FOUND = 30
"""Passages kept of one problem; later ones are not added."""

KEPT_BYTES = 256 * 1024
"""The most bytes of a problem in memory.db, whatever the length of answers and tool results."""

_PASSAGE_CAP, _SOURCE_CAP = 1_500, 200  # characters kept of each
_PASSAGE_BYTES, _SOURCE_BYTES = 4_000, 600  # their most bytes in memory.db
_INTERNAL_BYTES = 110_000  # the rest is for the passages
_MEMORY_BYTES = 200  # of one memory besides its text
_LONGEST_ESCAPE = 14  # bytes: a NUL as JSON within JSON

_CODE_OR_CITED = re.compile(
    r"(?P<code>(?<!`)(?P<run>`+)(?!`).*?(?<!`)(?P=run)(?!`)|(?<!`)```.*\Z)"
    r"|(?P<space>[ \t]?)\[(?P<numbers>\d{1,3}(?:,[ ]?\d{1,3})*)\](?![(:])",
    re.DOTALL,
)


class _Kept(BaseModel):
    """The form in memory.db; `internal` is JSON text, `found` pairs of source and text.

    `open` are the places in `found` of passages that not only members may read.
    """

    model_config = ConfigDict(extra="forbid")

    internal: str
    found: list[tuple[str, str]]
    open: list[int] = []
    members_only: bool = True
    spent: dict[str, object]
    asker: str
    asks: bool
    approval: str


@dataclass(slots=True)
class Problem:
    """The process memory of `problem_solving`; passages are numbered from one, as the reply cites them.

    `asker` is the user who has the problem, by platform id, empty if unknown. `asks` says that it waits for the answer
    to a question, `approval` is the id of an undecided question for permission. `members_only` says that members alone
    read along while it was worked on, so that what was thought may rest on what others may not know.
    """

    internal: WorkingMemory
    found: list[Passage] = field(default_factory=list)
    spent: Spent = Spent()  # noqa: RUF009 - a frozen value
    asker: str = ""
    asks: bool = False
    approval: str = ""
    members_only: bool = True

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
                    Passage(source, text, members_only=number not in read.open)
                    for number, (source, text) in enumerate(read.found)
                ],
                spent=Spent.from_json(read.spent),
                asker=read.asker,
                asks=read.asks,
                approval=read.approval,
                members_only=read.members_only,
            )
        except ValueError:
            return cls(WorkingMemory(soul_name))

    def to_json(self) -> dict[str, object]:
        """Plain values for memory.db, at most `KEPT_BYTES`: the oldest choices and observations are dropped."""
        kept = _Kept(
            internal=self.internal.replace(reversed(list(_newest(self.internal)))).to_json(),
            found=[(one.source, one.text) for one in self.found],
            open=[number for number, one in enumerate(self.found) if not one.members_only],
            members_only=self.members_only,
            spent=self.spent.to_json(),
            asker=self.asker,
            asks=self.asks,
            approval=self.approval,
        )
        return kept.model_dump(mode="json")

    def keep_for(self, readers: Readers) -> None:
        """Drop what the readers may not know: passages for members alone, and the thoughts that may rest on them."""
        if self.members_only and not readers.members_only:
            self.found = [one for one in self.found if not one.members_only]
            self.internal = WorkingMemory(self.internal.soul_name)
        self.members_only = readers.members_only

    def add(self, passages: Sequence[Passage]) -> str:
        """Keep passages, each once; gives them as an observation, with the numbers by which they are cited."""
        lines, left_out = [], 0
        for passage in passages:
            kept = _in_form(passage)
            if kept not in self.found:
                if len(self.found) >= MOST_FOUND:
                    left_out += 1
                    continue
                self.found.append(kept)
            lines.append(f"[{self.found.index(kept) + 1}] {kept.source}\n{kept.text}")
        if left_out:
            lines.append(f"({left_out} more were found, but nothing more is kept: work with what there is.)")
        return "\n\n".join(lines)

    def with_sources(self, reply: str) -> str:
        """A reply with its cited sources below it; unknown numbers are removed from the text, but not from code."""
        cited: dict[int, Passage] = {}

        def checked(match: re.Match[str]) -> str:
            if match["code"]:
                return match[0]
            numbers = [number for one in match["numbers"].split(",") if 1 <= (number := int(one)) <= len(self.found)]
            cited.update((number, self.found[number - 1]) for number in numbers)
            return f"{match['space']}[{', '.join(map(str, numbers))}]" if numbers else ""

        text = _CODE_OR_CITED.sub(checked, reply).rstrip()
        if not cited:
            return text
        return text + "\n\n" + "\n".join(f"[{number}] `{cited[number].source}`" for number in sorted(cited))


def _in_form(passage: Passage) -> Passage:
    """A passage as it is stored: its source on one line without backticks, its text cut."""
    source = one_line(passage.source.replace("`", "'"))
    return Passage(
        _cut(source, _SOURCE_CAP, _SOURCE_BYTES) or "somewhere",
        _cut(passage.text, _PASSAGE_CAP, _PASSAGE_BYTES),
        passage.members_only,
    )


def _cut(text: str, characters: int, most: int) -> str:
    kept = storable(text[:characters])
    return kept if _bytes(kept) <= most else kept[: most // _LONGEST_ESCAPE]


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
