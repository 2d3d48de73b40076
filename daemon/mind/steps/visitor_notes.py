"""Revise the notes about a user by changes only, never by a whole rewrite (seed 000, creativity 0.5)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from daemon.core.errors import DaemonError
from daemon.core.fencing import clean_name
from daemon.core.ports import Effort
from daemon.core.step import Step
from daemon.core.telemetry.redaction import remove_keys
from daemon.core.text import shortened, visible_line
from daemon.core.working_memory import Memory, WorkingMemory, thought
from daemon.mind.structured_reply import structured
from daemon.soul_engine import NOTES, PERSON, with_notes

MOST_LINES = 40
"""Lines of notes about one user; at the cap nothing is added until a line is retired."""

LINE_CAP = 240
"""Characters of one line."""

_COMMAND = """\
You keep notes about {person}, so that you can serve them better next time. {standing}{focus}

Say what this conversation changes about them: which lines to add, to correct, to retire.
- Note only what {person} said or plainly showed of themselves and what will still matter in some weeks: their work, \
tools, aims, ways and wishes. Nothing that others said of them, nothing about others.
- Don't guess, least of all at origin, faith, politics, health, body, age or love. No passwords, keys, numbers of \
accounts or addresses.
- One fact a line, in the third person, in at most {cap} characters. Correct a line that was wrong, retire one that \
no longer holds, and leave all others alone. Most conversations change nothing: then all three lists are empty.

Answer with JSON. When nothing changes: {{"add": [], "correct": [], "retire": []}}. Otherwise `add` holds the new \
lines, `correct` an object for each wrong line, with its number as `line` and what it should say as `text`, and \
`retire` the numbers of the lines to drop."""

_STANDING = 'They stand, numbered, under "Notes": {count} lines; there is room for {room} more.'
_BULLETS = "-*•— \t"
_WORD = re.compile(r"[^\W_\u2e80-\U0010ffff]+|[\u2e80-\U0010ffff]")  # scripts without spaces: each sign is a word


class TooMuchLost(DaemonError):
    """A change would have removed too many of the notes at once; nothing was changed."""


@dataclass(frozen=True, slots=True)
class NotesChange:
    """Changes to numbered notes, the first being 1; all three empty when nothing was learned."""

    add: tuple[str, ...] = ()
    correct: tuple[tuple[int, str], ...] = ()
    retire: tuple[int, ...] = ()


class _Correction(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    line: int
    text: str


class _Change(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    add: list[str] = []
    correct: list[_Correction] = []
    retire: list[int] = []


def visitor_notes(current: Sequence[str], *, person: str, focus: str = "") -> Step[NotesChange]:
    """The changes to the `current` notes about a user; run it on a memory prepared by `with_current_notes`.

    `focus` names what to look at above all, in the daemon's own words. `revised` applies the value.
    """
    json_schema, read_change = structured(_Change)
    name, count = clean_name(person), len(current)
    standing = _STANDING.format(count=count, room=max(0, MOST_LINES - count)) if count else "There are none yet."

    def read(answer: str) -> NotesChange:
        change = read_change(answer)
        corrections = tuple((one.line, one.text) for one in change.correct)
        return NotesChange(tuple(change.add), corrections, tuple(change.retire))

    return Step(
        name="visitor_notes",
        command=_COMMAND.format(
            person=name,
            standing=standing,
            focus=f" Look above all at this: {focus}" if focus else "",
            cap=LINE_CAP,
        ),
        read=read,
        remember=lambda change: _noted(name, change),
        creativity=0.5,
        effort=Effort.LOW,
        json_schema=json_schema,
        placeholder='{"add": [], "correct": [], "retire": []}',
        max_output_tokens=1024,
    )


def with_current_notes(memory: WorkingMemory, current: Sequence[str]) -> WorkingMemory:
    """The memory with the numbered notes, with a whole message's budget, in place of the PERSON region.

    They are fenced as data, so that nothing in them passes for an instruction.
    """
    numbered = "\n".join(f"{number}. {_line(text)}" for number, text in enumerate(current, start=1))
    return with_notes(memory.without_regions(PERSON), NOTES, numbered)


def revised(current: Sequence[str], change: NotesChange, *, most_lost: float = 0.34) -> tuple[str, ...]:
    """The notes after a change: one line each, cleaned, without duplicates and without what looks like a key.

    A correction wins over a retirement of the same line; unknown numbers are ignored; additions beyond 40 lines are
    dropped, old lines never. Raises TooMuchLost if more than one line and more than the share `most_lost` would be
    lost: retired, emptied, merged into another, or corrected to a text that has no word in common with the line.
    """
    corrected = {number: text for number, raw in change.correct if not _is_secret(text := _line(raw))}
    old = {number: text for number, raw in enumerate(current, start=1) if (text := _line(raw))}
    new = {number: corrected.get(number, "" if number in change.retire else text) for number, text in old.items()}
    kept = {text.casefold(): text for text in new.values() if text}
    gone = len({text.casefold() for text in old.values()}) - len(kept)
    lost = gone + sum(1 for number, text in new.items() if text and not _akin(text, old[number]))
    if lost > 1 and lost > most_lost * len(old):
        raise TooMuchLost(
            f"{lost} of {len(old)} lines of notes would have been lost at once",
            hint="the notes are unchanged; the next conversation may change them line by line",
        )
    for text in map(_line, change.add):
        if text and len(kept) < MOST_LINES and not _is_secret(text):
            kept.setdefault(text.casefold(), text)
    return tuple(kept.values())


def _line(text: str) -> str:
    """A text on one line without invisible characters and bullets, cut at its cap with an ellipsis."""
    return shortened(visible_line(text[: 8 * LINE_CAP]).strip(_BULLETS), LINE_CAP)


def _is_secret(text: str) -> bool:
    return remove_keys(text) != text


def _akin(text: str, other: str) -> bool:
    words, others = (set(_WORD.findall(one.casefold())) for one in (text, other))
    return text == other or not words.isdisjoint(others)


def _noted(person: str, change: NotesChange) -> tuple[Memory, ...]:
    """The new lines as a thought; none when nothing was learned."""
    lines = [line for text in (*change.add, *(text for _, text in change.correct)) if (line := _line(text))]
    if not lines:
        return ()
    return (thought("\n- ".join((f"about {person}:", *lines)), "noted"),)
