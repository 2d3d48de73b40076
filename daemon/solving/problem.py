"""One problem being worked at: what was found for it, what was spent on it, what it waits for; kept between turns."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from daemon.limits import Spent
from daemon.ports import Passage
from daemon.working_memory import WorkingMemory

MOST_FOUND = 30
"""Passages kept of one problem; what is found after them is not added any more."""

_PASSAGE_CAP = 1_500  # characters kept of each
_CITED = re.compile(r"\[(\d{1,3})\]")


@dataclass(slots=True)
class Problem:
    """What a conversation's `problem_solving` keeps in mind; passages are numbered from one, as the reply cites them.

    `waits_for` is `answer` or `permission` while it is parked; `approval` the id of the question it then asks.
    """

    internal: WorkingMemory
    found: list[Passage] = field(default_factory=list)
    spent: Spent = Spent()  # noqa: RUF009 - a frozen value
    waits_for: str = ""
    approval: str = ""

    @classmethod
    def resumed(cls, kept: Mapping[str, object], soul_name: str) -> "Problem":
        """Read what `to_json` gave, or begin anew where that is empty or not ours."""
        try:
            return cls(
                internal=WorkingMemory.from_json(str(kept["internal"])),
                found=[Passage(str(one["source"]), str(one["text"])) for one in json.loads(str(kept["found"]))],
                spent=Spent.from_json(json.loads(str(kept["spent"]))),
                waits_for=str(kept["waits_for"]),
                approval=str(kept["approval"]),
            )
        except (KeyError, TypeError, ValueError):
            return cls(WorkingMemory(soul_name))

    def to_json(self) -> dict[str, object]:
        """Plain values for memory.db."""
        found = [{"source": one.source, "text": one.text} for one in self.found]
        return {
            "internal": self.internal.to_json(),
            "found": json.dumps(found, ensure_ascii=False),
            "spent": json.dumps(self.spent.to_json()),
            "waits_for": self.waits_for,
            "approval": self.approval,
        }

    def add(self, passages: Sequence[Passage]) -> str:
        """Keep passages, each once; gives them as an observation, under the numbers by which they are cited."""
        lines = []
        for passage in passages:
            kept = Passage(passage.source, passage.text[:_PASSAGE_CAP])
            if kept not in self.found:
                if len(self.found) >= MOST_FOUND:
                    continue
                self.found.append(kept)
            lines.append(f"[{self.found.index(kept) + 1}] {kept.source}\n{kept.text}")
        return "\n\n".join(lines)

    def with_sources(self, reply: str) -> str:
        """A reply with the sources it cites below it; numbers that stand for nothing are taken out."""
        cited: dict[int, Passage] = {}

        def checked(match: re.Match[str]) -> str:
            number = int(match[1])
            if not 1 <= number <= len(self.found):
                return ""
            cited[number] = self.found[number - 1]
            return match[0]

        text = _CITED.sub(checked, reply).rstrip()
        if not cited:
            return text
        return text + "\n\n" + "\n".join(f"[{number}] `{cited[number].source}`" for number in sorted(cited))
