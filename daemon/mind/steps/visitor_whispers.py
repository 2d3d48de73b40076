"""The step that senses what a user may leave unsaid: intuition, never fact (seed 000, creativity 0.85)."""

from daemon.core.errors import MalformedReply
from daemon.core.fencing import clean_name
from daemon.core.ports.services import Effort
from daemon.core.step import AnswerForm, Step
from daemon.core.text import one_line
from daemon.core.working_memory import Memory, thought
from daemon.mind.prompts import prompt

_MOST_LINES = 3
_LINE_CAP = 240
_MARKS = "-*•—> \t\"“”'"


def visitor_whispers(person: str, context: str = "") -> Step[str]:
    """Build the step for one to three lines of at most 240 characters. `context` says what to keep in view."""
    name = clean_name(person)
    return Step(
        name="visitor_whispers",
        command=prompt("visitor_whispers", person=name, context=f"Keep in view: {context}\n" if context else ""),
        read=_read,
        remember=lambda whispers: (_sensed(name, whispers),),
        creativity=0.85,
        effort=Effort.LOW,
        max_output_tokens=256,
        form=AnswerForm.THOUGHT,
        read_cut=_read,
    )


def _read(answer: str) -> str:
    if not (lines := whisper_lines(answer)):
        raise MalformedReply("it is empty", reply=answer, hint="write two or three short lines")
    return lines


def whisper_lines(text: str) -> str:
    """Return at most three lines of a text, each cleaned and short."""
    lines = [cleaned for line in text.splitlines() if (cleaned := one_line(line).strip(_MARKS))]
    return "\n".join(line[:_LINE_CAP].rstrip() for line in lines[:_MOST_LINES])


def _sensed(person: str, whispers: str) -> Memory:
    return thought(f"only a feeling of what {person} may leave unsaid, not a fact:\n{whispers}", "sensed")
