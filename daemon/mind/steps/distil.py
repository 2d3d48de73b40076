"""The step that distils several visits, or several such distillates, into one memory."""

from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict

from daemon.core.errors import MalformedReply
from daemon.core.ports.services import Effort
from daemon.core.step import Step
from daemon.core.telemetry.redaction import remove_keys
from daemon.core.text import one_line, shortened
from daemon.core.working_memory import WorkingMemory
from daemon.memory.consolidation.distilling import Distillate, DistilledLine
from daemon.mind.prompts import prompt
from daemon.mind.reply import structured
from daemon.soul_engine import heading, with_notes

VISITS: Final = "what you remember of these visits"
_LINE: Final = 300  # characters
_CLAIMS: Final = 4
_TAG, _TAGS = 40, 5
_MOST, _LEAST = 10, 1


class _Claim(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    text: str
    notes: list[int]


class _Distillate(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    claims: list[_Claim]
    key_outcome: str = ""
    significance: int = 5
    tags: list[str] = []


def with_visits(memory: WorkingMemory, notes: Sequence[str]) -> WorkingMemory:
    """Add the notes for distilling, oldest first, as data."""
    return with_notes(memory, VISITS, "\n".join(f"{number}. {one_line(text)}" for number, text in enumerate(notes, 1)))


def distil(name: str, count: int) -> Step[Distillate]:
    """Build the step that makes one memory of the `count` notes in the region VISITS. It leaves no memory."""
    json_schema, read_distillate = structured(_Distillate)

    def read(answer: str) -> Distillate:
        found = read_distillate(answer)
        if any(not claim.notes or not all(1 <= one <= count for one in claim.notes) for claim in found.claims):
            hint = f"name notes by their numbers, from 1 to {count}"
            raise MalformedReply("a claim of it names no note that is there", reply=answer, hint=hint)
        claims = [DistilledLine(text, tuple(one.notes)) for one in found.claims[:_CLAIMS] if (text := _line(one.text))]
        return Distillate(
            claims=tuple(claims),
            key_outcome=_line(found.key_outcome),
            significance=min(_MOST, max(_LEAST, found.significance)),
            tags=tuple(one for tag in found.tags[:_TAGS] if (one := _line(tag, _TAG))),
        )

    return Step(
        name="distil",
        command=prompt("distil", name=name, visits=heading(VISITS), count=count, claims=_CLAIMS, tags=_TAGS),
        read=read,
        remember=lambda _: (),
        creativity=0.3,
        effort=Effort.LOW,
        json_schema=json_schema,
        placeholder='{"claims": []}',
        max_output_tokens=500,
    )


def _line(text: str, cap: int = _LINE) -> str:
    return shortened(one_line(remove_keys(text)), cap)
