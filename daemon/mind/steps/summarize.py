"""The step that folds older turns into the conversation's summary, which bounds the cost of a long conversation."""

import re
from collections.abc import Sequence

from daemon.core.errors import MalformedReply
from daemon.core.fencing import clean_name, cut
from daemon.core.ports.services import Effort
from daemon.core.step import AnswerForm, Step
from daemon.core.text import one_line, shortened
from daemon.core.working_memory import Memory, Role, WorkingMemory, estimate_tokens
from daemon.mind.prompts import prompt
from daemon.soul_engine import SUMMARY, TURNS, heading, with_notes

OPEN, SO_FAR = "Open:", "So far:"
"""The headings of a summary's two parts, identical in every language."""

_WORDS = re.compile(r"[^\W_]")
_OPEN_LINE_ALONE = re.compile(rf"[\W_]*{OPEN}[\W_]*", re.IGNORECASE)
_SO_FAR_LINE = re.compile(rf"[\W_]*{SO_FAR}[\W_]*", re.IGNORECASE)
_MARKS = "-*•— \t"
_OPEN_LINES, _OPEN_LINE = 12, 200  # the most open lines that are kept, and characters of each
_LEAST_WORDS = 20
_TURNS_TOKENS = 3_600
_TURN_OVERHEAD = 12
_CHARACTERS_PER_WORD = 12


def turns_to_summarize(name: str, earlier: str, turns: Sequence[Memory]) -> WorkingMemory:
    """Build the memory that `summarize` runs on: the earlier summary (may be empty) and the turns with their speakers.

    All turns together fit one message of about 3,600 tokens. The longest are cut, visibly, to one length.
    """
    share = _fair_share([estimate_tokens(turn.content) for turn in turns])
    lines = (f"{_speaker(name, turn)}{_indented(turn.content, share)}" for turn in turns)
    return with_notes(with_notes(WorkingMemory(name), SUMMARY, earlier), TURNS, "\n".join(lines))


def summarize(name: str, *, words: int = 220) -> Step[str]:
    """Build the step for the new summary as plain text, open matters first.

    A summary far beyond `words` is cut visibly, its prose first. It leaves no memory. Raises ValueError for fewer than
    twenty words.
    """
    if words < _LEAST_WORDS:
        raise ValueError(f"a summary needs at least {_LEAST_WORDS} words")
    cap = words * _CHARACTERS_PER_WORD

    def command(memory: WorkingMemory) -> str:
        earlier = prompt("summarize_earlier", summary=heading(SUMMARY)) if memory.region(SUMMARY) else ""
        turns = heading(TURNS)
        return prompt("summarize", name=name, words=words, earlier=earlier, turns=turns, open=OPEN, so_far=SO_FAR)

    def read(answer: str) -> str:
        text = _in_two_parts(answer.strip(), cap)
        if not text:
            raise MalformedReply("it is empty", reply=answer, hint="write the summary")
        return text

    return Step(
        name="summarize",
        command=command,
        read=read,
        remember=lambda _: (),
        creativity=0.3,
        effort=Effort.LOW,
        max_output_tokens=words * 4,
        form=AnswerForm.THOUGHT,
        read_cut=read,
    )


def _in_two_parts(text: str, cap: int) -> str:
    parts = _parts(text)
    if parts is None:
        return _cut(text, cap)
    lines = [line for given in parts[0] if (line := one_line(given).strip(_MARKS))]
    kept = "".join(f"- {shortened(line, _OPEN_LINE)}\n" for line in lines[:_OPEN_LINES])
    prose = _cut(parts[1].strip(), max(0, cap - len(kept)))
    return f"{OPEN}\n{kept}{SO_FAR}\n{prose}".strip() if kept else prose


def _parts(text: str) -> tuple[list[str], str] | None:
    """Return the lines under the first heading and the text after the second, None without both.

    The text is read line by line. A pattern over the whole text would take minutes for an answer of empty lines.
    """
    lines = text.splitlines()
    begun = next((place for place, line in enumerate(lines) if _WORDS.search(line)), len(lines))
    if begun == len(lines) or not _OPEN_LINE_ALONE.fullmatch(lines[begun]):
        return None
    for place in range(begun + 1, len(lines)):
        if found := _SO_FAR_LINE.match(lines[place]):
            return lines[begun + 1 : place], "\n".join((lines[place][found.end() :], *lines[place + 1 :]))
    return None


def _cut(text: str, cap: int) -> str:
    return text if len(text) <= cap else f"{text[:cap].rstrip()} […]"


def _speaker(name: str, turn: Memory) -> str:
    match turn.role:
        case Role.SYSTEM:
            return ""
        case Role.ASSISTANT:
            return f"{clean_name(name)}: "
        case Role.USER:
            return f"{clean_name(turn.name or '')}: "


def _fair_share(sizes: list[int]) -> int:
    share = left = max(0, _TURNS_TOKENS - _TURN_OVERHEAD * len(sizes))
    for taken, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - taken)
        if size > share:
            break
        left -= size
    return share


def _indented(text: str, budget: int) -> str:
    return "\n    ".join(cut(text, budget).splitlines())
