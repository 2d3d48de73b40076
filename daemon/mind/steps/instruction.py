"""Carry out one free instruction of the daemon; the result is remembered and not said (Open Souls' `instruction`)."""

from daemon.core.errors import MalformedReply
from daemon.core.step import Step
from daemon.core.working_memory import thought
from daemon.mind.spoken_text import PRIVATE_VERBS, SpokenText

_COMMAND = """\
{text}

Do just this and answer with the result alone, without a word before or after it."""


def instruction(text: str, *, name: str, verb: str = "concluded") -> Step[str]:
    """The result of what `text` says, done as the soul called `name`; an empty answer is malformed.

    It is remembered as a thought under `verb`, so that it does not look like something that was said.
    """

    def read(answer: str) -> str:
        spoken = SpokenText(name, tuple(one for one in PRIVATE_VERBS if one != verb))
        result = spoken.feed(answer) + spoken.finish()
        if spoken.is_thought or not result:
            raise MalformedReply("it holds no result", reply=answer, hint="answer with the result")
        return result

    return Step(
        name="instruction",
        command=_COMMAND.format(text=text),
        read=read,
        remember=lambda result: (thought(result, verb, name=name),),
    )
