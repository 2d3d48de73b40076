"""The step for a private thought, which stays in working memory and is never said (seed 000, creativity 0.7)."""

from collections.abc import Mapping

from daemon.core.errors import MalformedReply
from daemon.core.step import AnswerForm, Step
from daemon.core.value import Value
from daemon.core.working_memory import thought
from daemon.mind.prompts import prompt
from daemon.mind.spoken_text import SpokenText
from daemon.mind.steps.respond import NOTHING, listed_wishes, wish_word


class LedThought(Value):
    """A thought, and the word for what the message calls for, None where the model forgot it."""

    text: str
    calls_for: str | None = None


def internal_monologue(name: str, instructions: str, *, verb: str = "thought") -> Step[str]:
    """Build the step for a thought, remembered under `verb`. An empty answer is malformed."""

    def read(answer: str) -> str:
        spoken = SpokenText(name, private_verbs=())
        text = spoken.feed(answer) + spoken.finish()
        if not text:
            raise MalformedReply("it is empty", reply=answer, hint="write the thought itself")
        return text

    return Step(
        name="internal_monologue",
        command=prompt("internal_monologue", instructions=instructions),
        read=read,
        remember=lambda text: (thought(text, verb, name=name),),
        creativity=0.7,
        max_output_tokens=512,
        form=AnswerForm.THOUGHT,
        read_cut=read,
        sees=True,
    )


def led_monologue(name: str, instructions: str, wishes: Mapping[str, str]) -> Step[LedThought]:
    """Build the step for a thought whose first line says what the message calls for.

    `wishes` are the words with their meanings. A thought without that line counts all the same.
    """
    plain = internal_monologue(name, instructions)

    def read(answer: str) -> LedThought:
        text = plain.read(answer)
        first, _, rest = text.partition("\n")
        if (word := wish_word(first)) not in (NOTHING, *wishes):
            return LedThought(text)
        if not rest.strip() and word == NOTHING:
            raise MalformedReply("it holds no thought", reply=answer, hint="write the thought below the first line")
        return LedThought(rest.strip(), word)

    return Step(
        name=plain.name,
        command=prompt("led_monologue", instructions=instructions, wishes=listed_wishes(wishes)),
        read=read,
        remember=lambda led: (thought(led.text, "thought", name=name),) if led.text else (),
        creativity=plain.creativity,
        max_output_tokens=plain.max_output_tokens,
        form=plain.form,
        read_cut=read,
    )
