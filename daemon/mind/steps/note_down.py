"""The step that reads what a person asks to be remembered from their messages."""

from typing import Annotated

from pydantic import AfterValidator

from daemon.core.step import Step
from daemon.core.text import visible_line
from daemon.mind.prompts import prompt
from daemon.mind.quotation import SaidAs
from daemon.mind.structured import JSONAnswer, as_it_is, between, structured_step

LONGEST_LINE, MOST_TAGS, LONGEST_TAG = 300, 5, 40
"""The most characters of a note, the most tags, and the most characters of a tag and of the tone."""


def _visible(most: int) -> AfterValidator:
    return AfterValidator(lambda text: visible_line(text)[:most])


_Tag = Annotated[str, _visible(LONGEST_TAG)]


class AskedToRemember(JSONAnswer, title="_Note"):
    """The line to note and the user's words that say it. `line` is empty for nothing."""

    line: Annotated[str, _visible(LONGEST_LINE)] = ""
    quote: str = ""
    kind: SaidAs = SaidAs.STATEMENT
    significance: Annotated[int, between(1, 10)] = 5
    tags: Annotated[tuple[_Tag, ...], AfterValidator(lambda tags: tuple(filter(None, tags))[:MOST_TAGS])] = ()
    tone: _Tag = ""


def note_down() -> Step[AskedToRemember]:
    """Build the step that reads what the last messages ask to be remembered. It leaves no memory."""
    return structured_step(
        "note_down",
        prompt("note_down"),
        AskedToRemember,
        as_it_is,
        placeholder='{"line": "", "quote": "", "significance": 5, "tags": [], "tone": ""}',
        max_output_tokens=256,
    )
