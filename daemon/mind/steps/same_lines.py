"""The step that decides which of the given pairs of lines about a person say the same."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from daemon.core.errors import MalformedReply
from daemon.core.step import Step
from daemon.core.working_memory import WorkingMemory
from daemon.mind.prompts import prompt
from daemon.mind.steps.visitor_notes import note_line
from daemon.mind.structured import structured_step
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

    def take(answer: _Same) -> frozenset[int]:
        known = frozenset(one - 1 for one in answer.same if 1 <= one <= number)
        if answer.same and not known:
            raise MalformedReply("it names no pair that is there", hint=f"name pairs from 1 to {number}")
        return known

    return structured_step(
        "same_lines",
        prompt("same_lines", notes=heading(NOTES)),
        _Same,
        take,
        creativity=0.1,
        placeholder='{"same": []}',
        max_output_tokens=200,
    )
