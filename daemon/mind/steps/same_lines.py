"""The step that decides which of the given pairs of lines about a person say the same."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from daemon.core.errors import MalformedReply
from daemon.core.ports.services import Effort
from daemon.core.step import Step
from daemon.core.working_memory import WorkingMemory
from daemon.mind.prompts import prompt
from daemon.mind.reply import structured
from daemon.mind.steps.visitor_notes import note_line
from daemon.soul_engine import NOTES, heading, with_notes


class _Same(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    same: list[int]


def with_pairs(memory: WorkingMemory, pairs: Sequence[tuple[str, str]]) -> WorkingMemory:
    """Add numbered pairs of lines, as data."""
    numbered = (
        f"{number}. {note_line(first)}\n   {note_line(second)}" for number, (first, second) in enumerate(pairs, start=1)
    )
    return with_notes(memory, NOTES, "\n".join(numbered))


def same_lines(number: int) -> Step[frozenset[int]]:
    """Build the step that returns the indexes, from 0, of the pairs in the region NOTES that say the same.

    It leaves no memory. `read` raises MalformedReply where all that is named is no pair.
    """
    json_schema, read_same = structured(_Same)

    def read(answer: str) -> frozenset[int]:
        named = read_same(answer).same
        known = frozenset(one - 1 for one in named if 1 <= one <= number)
        if named and not known:
            raise MalformedReply("it names no pair that is there", reply=answer, hint=f"name pairs from 1 to {number}")
        return known

    return Step(
        name="same_lines",
        command=prompt("same_lines", notes=heading(NOTES)),
        read=read,
        remember=lambda _: (),
        creativity=0.1,
        effort=Effort.LOW,
        json_schema=json_schema,
        placeholder='{"same": []}',
        max_output_tokens=200,
    )
