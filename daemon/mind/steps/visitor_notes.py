"""The step that revises the notes about a user by proven changes only (seed 000, creativity 0.5)."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import field
from pydantic import BaseModel, ConfigDict, Field

from daemon.core.fencing import clean_name
from daemon.core.step import Step
from daemon.core.text import shortened, visible_line
from daemon.core.value import Value
from daemon.core.working_memory import Memory, WorkingMemory, thought
from daemon.mind.prompts import prompt
from daemon.mind.quotation import SaidAs
from daemon.mind.steps.visitor_whispers import whisper_lines
from daemon.mind.structured import structured_step
from daemon.soul_engine import NOTES, PERSON, with_notes

MOST_LINES = 40
"""The most lines of notes about one user. At the cap nothing is added until a line is retired."""

LINE_CAP = 240

_EMPTY = '{"add": [], "correct": [], "retire": []}'
_EMPTY_WHOLE = '{"thought": "", "whispers": "", "add": [], "correct": [], "retire": []}'
_BULLETS = "-*•— \t"


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore")

    text: str
    subject: str = ""
    predicate: str = ""
    object: str = ""
    group: Literal["role", "answering", "work", "preference", "other"] | str = "other"
    kind: Literal["statement", "wish", "joke", "hypothesis", "quotation", "claim", "order"] | str = "statement"
    quote: str = ""


class _Correction(_Line):
    line: int


class _Retirement(BaseModel):
    model_config = ConfigDict(extra="ignore")

    line: int
    quote: str = ""
    kind: str = SaidAs.STATEMENT


class _Change(BaseModel):
    model_config = ConfigDict(extra="ignore")

    add: list[_Line] = Field(default_factory=list)
    correct: list[_Correction] = Field(default_factory=list)
    retire: list[_Retirement] = Field(default_factory=list)


class _Inner(BaseModel):
    thought: str = ""
    whispers: str | list[str] = ""


class _WholeChange(_Change, _Inner):
    pass  # pydantic puts the fields of the last base first: thought and whispers come before the changes


class NewLine(Value):
    """A line that the model proposes, with the words that should prove it. Nothing of it is checked yet."""

    text: str
    quote: str
    subject: str = ""
    predicate: str = ""
    object: str = ""
    group: str = "other"
    said_as: SaidAs | None = SaidAs.STATEMENT


class NotesChange(Value):
    """Proposed changes to numbered notes, the first being 1, all empty when nothing was learned.

    `retire` maps the number of a line to the quotation that ends it. `thought` and `whispers` are empty unless they
    were asked for.
    """

    add: tuple[NewLine, ...] = ()
    correct: tuple[tuple[int, NewLine], ...] = ()
    retire: Mapping[int, str] = field(default_factory=dict)
    thought: str = ""
    whispers: str = ""


def visitor_notes(current: Sequence[str], *, person: str, focus: str = "", whole: bool = False) -> Step[NotesChange]:
    """Build the step for the `current` notes about a user. Run it on a memory prepared by `with_current_notes`.

    `focus` names what to look at above all, in the daemon's own words. `whole`: thought and whispers are asked for in
    the same answer. Nothing of the value is proved yet: see `daemon.mind.taking_effect`.
    """
    name, count = clean_name(person), len(current)
    standing = (
        prompt("visitor_notes_kept", count=count, room=max(0, MOST_LINES - count)) if count else "There are none yet."
    )
    nothing = _EMPTY_WHOLE if whole else _EMPTY
    return structured_step(
        "visitor_notes",
        prompt(
            "visitor_notes",
            person=name,
            standing=standing,
            focus=f" Look above all at this: {focus}" if focus else "",
            cap=LINE_CAP,
            whole=prompt("visitor_notes_whole", person=name) if whole else "",
            nothing=nothing,
        ),
        _WholeChange if whole else _Change,
        _proposed,
        remember=lambda change: _noted(name, change),
        creativity=0.5,
        placeholder=nothing,
        max_output_tokens=1536,
    )


def with_current_notes(memory: WorkingMemory, current: Sequence[str]) -> WorkingMemory:
    """Replace the PERSON region by the numbered notes, with a whole message's budget.

    They are fenced as data, which keeps them from passing for an instruction.
    """
    numbered = "\n".join(f"{number}. {note_line(text)}" for number, text in enumerate(current, start=1))
    return with_notes(memory.without_regions(PERSON), NOTES, numbered)


def note_line(text: str) -> str:
    """Return a text on one line without invisible characters and bullets, cut at its cap with an ellipsis."""
    return shortened(visible_line(text[: 8 * LINE_CAP]).strip(_BULLETS), LINE_CAP)


def _proposed(change: _Change) -> NotesChange:
    whole = change if isinstance(change, _WholeChange) else _WholeChange()
    whispers = whole.whispers if isinstance(whole.whispers, str) else "\n".join(whole.whispers)
    return NotesChange(
        tuple(map(_new_line, change.add)),
        tuple((one.line, _new_line(one)) for one in change.correct),
        {one.line: one.quote for one in change.retire if one.kind in (SaidAs.STATEMENT, SaidAs.WISH)},
        visible_line(whole.thought),
        whisper_lines(whispers),
    )


def _new_line(one: _Line) -> NewLine:
    said_as = SaidAs(one.kind) if one.kind in set(SaidAs) else None
    subject, predicate, object_ = (visible_line(part)[:LINE_CAP] for part in (one.subject, one.predicate, one.object))
    return NewLine(note_line(one.text), one.quote, subject, predicate, object_, one.group, said_as)


def _noted(person: str, change: NotesChange) -> tuple[Memory, ...]:
    lines = [one.text for one in (*change.add, *(line for _, line in change.correct)) if one.text]
    if not lines:
        return ()
    return (thought("\n- ".join((f"about {person}:", *lines)), "noted"),)
