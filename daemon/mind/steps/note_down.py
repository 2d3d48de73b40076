"""The step that reads what a person asks to be remembered from their messages."""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from daemon.core.ports.services import Effort
from daemon.core.step import Step
from daemon.core.text import visible_line
from daemon.mind.prompts import prompt
from daemon.mind.quotation import SaidAs
from daemon.mind.reply import structured

LONGEST_LINE, MOST_TAGS, LONGEST_TAG = 300, 5, 40
"""The most characters of a note, the most tags, and the most characters of a tag and of the tone."""


class _Note(BaseModel):
    model_config = ConfigDict(extra="forbid")

    line: str = ""
    quote: str = ""
    kind: SaidAs = SaidAs.STATEMENT
    significance: int = 5
    tags: list[str] = []
    tone: str = ""


@dataclass(frozen=True, slots=True)
class AskedToRemember:
    """The line to note and the user's words that say it. `line` is empty for nothing."""

    line: str
    quote: str
    said_as: SaidAs = SaidAs.STATEMENT
    significance: int = 5
    tags: tuple[str, ...] = ()
    tone: str = ""


def note_down() -> Step[AskedToRemember]:
    """Build the step that reads what the last messages ask to be remembered. It leaves no memory."""
    json_schema, read_note = structured(_Note)

    def read(answer: str) -> AskedToRemember:
        found = read_note(answer)
        tags = filter(None, (visible_line(tag)[:LONGEST_TAG] for tag in found.tags))
        return AskedToRemember(
            line=visible_line(found.line)[:LONGEST_LINE],
            quote=found.quote,
            said_as=found.kind,
            significance=min(10, max(1, found.significance)),
            tags=tuple(tags)[:MOST_TAGS],
            tone=visible_line(found.tone)[:LONGEST_TAG],
        )

    return Step(
        name="note_down",
        command=prompt("note_down"),
        read=read,
        remember=lambda _: (),
        creativity=0.2,
        effort=Effort.LOW,
        json_schema=json_schema,
        placeholder='{"line": "", "quote": "", "significance": 5, "tags": [], "tone": ""}',
        max_output_tokens=256,
    )
