"""One problem being worked at: what was found for it, what was spent on it, what it waits for; kept between turns."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel, ConfigDict

from daemon.core.limits import Spent
from daemon.core.ports import Passage
from daemon.core.text import one_line, storable
from daemon.core.working_memory import Memory, WorkingMemory

MOST_FOUND = 30
"""Passages kept of one problem; what is found after them is not added any more."""

KEPT_BYTES = 256 * 1024
"""What a problem takes in memory.db at most, whatever a model and the tools have said."""

_PASSAGE_CAP, _SOURCE_CAP = 1_500, 200  # characters kept of each
_PASSAGE_BYTES, _SOURCE_BYTES = 4_000, 600  # and how long they may be in memory.db
_INTERNAL_BYTES = 110_000  # the rest is for the passages
_MEMORY_BYTES = 200  # of one memory besides its words
_LONGEST_ESCAPE = 14  # bytes: a NUL as JSON within JSON

_CODE_OR_CITED = re.compile(
    r"(?P<code>(?<!`)(?P<run>`+)(?!`).*?(?<!`)(?P=run)(?!`)|(?<!`)```.*\Z)"
    r"|(?P<space>[ \t]?)\[(?P<numbers>\d{1,3}(?:,[ ]?\d{1,3})*)\](?![(:])",
    re.DOTALL,
)


class _Kept(BaseModel):
    """The form in memory.db; `internal` is JSON text, `found` pairs of source and text."""

    model_config = ConfigDict(extra="forbid")

    internal: str
    found: list[tuple[str, str]]
    spent: dict[str, object]
    asker: str
    asks: bool
    approval: str


@dataclass(slots=True)
class Problem:
    """What a conversation's `problem_solving` keeps in mind; passages are numbered from one, as the reply cites them.

    `asker` is whose problem it is, by platform id, empty where that isn't known. `asks` says that it waits for the
    answer to a question, `approval` is the id of a question for permission that nobody has decided yet.
    """

    internal: WorkingMemory
    found: list[Passage] = field(default_factory=list)
    spent: Spent = Spent()  # noqa: RUF009 - a frozen value
    asker: str = ""
    asks: bool = False
    approval: str = ""

    @property
    def waits(self) -> bool:
        """Whether it is parked until somebody answers or decides."""
        return self.asks or bool(self.approval)

    @classmethod
    def resumed(cls, kept: Mapping[str, object], soul_name: str) -> "Problem":
        """Read what `to_json` gave, or begin anew where that is empty or not ours."""
        try:
            read = _Kept.model_validate(dict(kept))
            return cls(
                internal=WorkingMemory.from_json(read.internal),
                found=[Passage(source, text) for source, text in read.found],
                spent=Spent.from_json(read.spent),
                asker=read.asker,
                asks=read.asks,
                approval=read.approval,
            )
        except ValueError:
            return cls(WorkingMemory(soul_name))

    def to_json(self) -> dict[str, object]:
        """Plain values for memory.db, at most `KEPT_BYTES`: the oldest of what was chosen and observed is let go."""
        kept = _Kept(
            internal=self.internal.replace(reversed(list(_newest(self.internal)))).to_json(),
            found=[(one.source, one.text) for one in self.found],
            spent=self.spent.to_json(),
            asker=self.asker,
            asks=self.asks,
            approval=self.approval,
        )
        return kept.model_dump(mode="json")

    def add(self, passages: Sequence[Passage]) -> str:
        """Keep passages, each once; gives them as an observation, under the numbers by which they are cited."""
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
        """A reply with the sources it cites below it; numbers that stand for nothing are taken out, but not of code."""
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
    """A passage as it is kept: its source on one line that a reply can show as code, its text cut."""
    source = one_line(passage.source.replace("`", "'"))
    return Passage(
        _cut(source, _SOURCE_CAP, _SOURCE_BYTES) or "somewhere", _cut(passage.text, _PASSAGE_CAP, _PASSAGE_BYTES)
    )


def _cut(text: str, characters: int, most: int) -> str:
    kept = storable(text[:characters])
    return kept if _bytes(kept) <= most else kept[: most // _LONGEST_ESCAPE]


def _newest(internal: WorkingMemory) -> Iterator[Memory]:
    """The newest memories first, as many as there is room for."""
    left = _INTERNAL_BYTES
    for one in reversed(internal.memories):
        kept = replace(one, content=storable(one.content), name=storable(one.name) if one.name else one.name)
        left -= _bytes(kept.content) + _bytes(kept.name or "") + _MEMORY_BYTES
        if left < 0:
            return
        yield kept


def _bytes(text: str) -> int:
    """How long a text is in memory.db at most: UTF-8, as JSON within JSON."""
    return len(json.dumps(json.dumps(text, ensure_ascii=False), ensure_ascii=False).encode())
