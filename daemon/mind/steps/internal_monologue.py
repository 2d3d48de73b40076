"""A private thought: it stays in working memory and is never said (seed 000, creativity 0.7)."""

from daemon.core.errors import MalformedReply
from daemon.core.step import AnswerForm, Step
from daemon.core.working_memory import thought
from daemon.mind.spoken_text import SpokenText

_COMMAND = """\
{instructions}

Write only {name}'s private thought, in one to four sentences. Nobody else will read it."""


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
        command=_COMMAND.format(instructions=instructions, name=name),
        read=read,
        remember=lambda text: (thought(text, verb, name=name),),
        creativity=0.7,
        max_output_tokens=512,
        form=AnswerForm.THOUGHT,
        read_cut=read,
    )
