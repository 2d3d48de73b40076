"""The step that senses what a user may leave unsaid: intuition, never fact (seed 000, creativity 0.85)."""

from daemon.core.errors import MalformedReply
from daemon.core.fencing import clean_name
from daemon.core.ports.services import Effort
from daemon.core.step import AnswerForm, Step
from daemon.core.text import one_line
from daemon.core.working_memory import Memory, thought

_COMMAND = """\
Listen for what {person} may be leaving unsaid in this conversation: a hope, a worry, a question behind the question.
{context}
Write two or three short lines in the first person, as the quiet voice within {person} might put it. They are your \
intuition, not fact; nobody but you will ever read them. Stay with the matter at hand: nothing about origin, faith, \
politics, health, body or love, and nothing that a third person said. Where you sense nothing, write that in one line.

Answer with the lines alone."""

_MOST_LINES = 3
_LINE_CAP = 240
_MARKS = "-*•—> \t\"“”'"


def visitor_whispers(person: str, context: str = "") -> Step[str]:
    """Build the step for one to three lines of at most 240 characters. `context` says what to keep in view."""
    name = clean_name(person)
    return Step(
        name="visitor_whispers",
        command=_COMMAND.format(person=name, context=f"Keep in view: {context}\n" if context else ""),
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
