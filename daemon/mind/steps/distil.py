"""The step that distils several visits, or several such distillates, into one memory."""

from collections.abc import Sequence
from typing import Annotated, Final

from daemon.core.errors import MalformedReply
from daemon.core.step import Step
from daemon.core.text import one_line
from daemon.core.working_memory import WorkingMemory
from daemon.memory.consolidation.distilling import Distillate, DistilledLine
from daemon.mind.prompts import prompt
from daemon.mind.structured import JSONAnswer, between, filled_items, structured_step, within
from daemon.soul_engine import heading, with_notes

VISITS: Final = "what you remember of these visits"
_LINE: Final = 300  # characters
_CLAIMS: Final = 4
_TAGS: Final = 5


class _Claim(JSONAnswer, strict=True):
    text: Annotated[str, within(_LINE)]
    notes: tuple[int, ...]


class _Distillate(JSONAnswer, strict=True):
    claims: list[_Claim]
    key_outcome: Annotated[str, within(_LINE)] = ""
    significance: Annotated[int, between(1, 10)] = 5
    tags: Annotated[tuple[Annotated[str, within(40)], ...], filled_items(_TAGS)] = ()


def with_visits(memory: WorkingMemory, notes: Sequence[str]) -> WorkingMemory:
    """Add the notes for distilling, oldest first, as data."""
    return with_notes(memory, VISITS, "\n".join(f"{number}. {one_line(text)}" for number, text in enumerate(notes, 1)))


def distil(name: str, count: int) -> Step[Distillate]:
    """Build the step that makes one memory of the `count` notes in the region VISITS. It leaves no memory."""

    def take(answer: _Distillate) -> Distillate:
        if any(not claim.notes or not all(1 <= one <= count for one in claim.notes) for claim in answer.claims):
            hint = f"name notes by their numbers, from 1 to {count}"
            raise MalformedReply("a claim of it names no note that is there", hint=hint)
        claims = [DistilledLine(one.text, one.notes) for one in answer.claims[:_CLAIMS] if one.text]
        return Distillate(tuple(claims), answer.key_outcome, answer.significance, answer.tags)

    return structured_step(
        "distil",
        prompt("distil", name=name, visits=heading(VISITS), count=count, claims=_CLAIMS, tags=_TAGS),
        _Distillate,
        take,
        creativity=0.3,
        placeholder='{"claims": []}',
        max_output_tokens=500,
    )
