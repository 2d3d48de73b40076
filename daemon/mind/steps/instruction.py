"""The step that carries out one free instruction, whose result is not said (Open Souls' `instruction`)."""

from daemon.core.errors import MalformedReply
from daemon.core.step import Step
from daemon.core.working_memory import thought
from daemon.mind.prompts import prompt
from daemon.mind.spoken_text import PRIVATE_VERBS, SpokenText


def instruction(text: str, *, name: str, verb: str = "concluded") -> Step[str]:
    """Build the step that does what `text` says, as the soul called `name`. An empty answer is malformed.

    The result is remembered as a thought under `verb`, not as speech.
    """

    def read(answer: str) -> str:
        spoken = SpokenText(name, tuple(one for one in PRIVATE_VERBS if one != verb))
        result = spoken.feed(answer) + spoken.finish()
        if spoken.is_thought or not result:
            raise MalformedReply("it holds no result", reply=answer, hint="answer with the result")
        return result

    return Step(
        name="instruction",
        command=prompt("instruction", text=text),
        read=read,
        remember=lambda result: (thought(result, verb, name=name),),
    )
