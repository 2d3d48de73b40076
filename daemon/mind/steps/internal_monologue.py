"""A private thought: it stays in working memory and is never said (seed 000, creativity 0.7)."""

import re
from dataclasses import dataclass

from daemon.core.errors import MalformedReply
from daemon.core.step import AnswerForm, Step
from daemon.core.working_memory import thought
from daemon.mind.spoken_text import SpokenText

_COMMAND = """\
{instructions}

Write only your private thought, in one to four sentences. Nobody else will read it."""

_WEIGHED = """\
{instructions}

On a first line write one word alone: yes if this is true, no if it isn't or you can't tell: {statement}
Below it write your private thought, in one to four sentences, and nothing more. Nobody else will read it."""

_FIRST_LINE = re.compile(r"[^\w\n]{0,8}(yes|no)[^\w\n]{0,8}(?:\n\s*|\Z)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WeighedThought:
    """A thought, and whether a statement that was weighed along the way `holds`; doubt counts as no."""

    text: str
    holds: bool = False


def internal_monologue(name: str, instructions: str, *, verb: str = "thought") -> Step[str]:
    """The thought as text, remembered under `verb`; an empty answer is malformed."""

    def read(answer: str) -> str:
        spoken = SpokenText(name, private_verbs=())
        text = spoken.feed(answer) + spoken.finish()
        if not text:
            raise MalformedReply("it is empty", reply=answer, hint="write the thought itself")
        return text

    return Step(
        name="internal_monologue",
        command=_COMMAND.format(instructions=instructions),
        read=read,
        remember=lambda text: (thought(text, verb, name=name),),
        creativity=0.7,
        max_output_tokens=512,
        form=AnswerForm.THOUGHT,
        read_cut=read,
        sees=True,
    )


def weighed_monologue(name: str, instructions: str, statement: str) -> Step[WeighedThought]:
    """A thought that says on its first line whether a statement is true; an empty `statement` asks nothing.

    A model that forgets that line has thought all the same, and its doubt counts as no.
    """
    plain = internal_monologue(name, instructions)

    def read(answer: str) -> WeighedThought:
        text = plain.read(answer)
        found = _FIRST_LINE.match(text) if statement else None
        if found is None:
            return WeighedThought(text)
        holds, rest = found[1].casefold() == "yes", text[found.end() :]
        if not rest and not holds:
            raise MalformedReply("it holds no thought", reply=answer, hint="write the thought below the first line")
        return WeighedThought(rest, holds)

    return Step(
        name=plain.name,
        command=_WEIGHED.format(instructions=instructions, statement=statement) if statement else plain.command,
        read=read,
        remember=lambda weighed: (thought(weighed.text, "thought", name=name),) if weighed.text else (),
        creativity=plain.creativity,
        max_output_tokens=plain.max_output_tokens,
        form=plain.form,
        read_cut=read,
    )
