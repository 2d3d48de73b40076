"""The step in which the persona speaks, streamed and without a prefix such as `Name said: "…"` (seed 000)."""

from daemon.core.errors import MalformedReply
from daemon.core.ports.services import ModelRole
from daemon.core.step import Step
from daemon.core.working_memory import Memory, Role
from daemon.mind.prompts import prompt
from daemon.mind.spoken_text import PRIVATE_VERBS, SpokenText
from daemon.soul import Soul


def external_dialog(soul: Soul, instructions: str, *, verb: str = "said") -> Step[str]:
    """Build the step for the spoken text. An answer that begins as a private thought is malformed."""

    def read(answer: str) -> str:
        return read_spoken(soul, answer)

    return Step(
        name="external_dialog",
        command=prompt("external_dialog", instructions=instructions),
        read=read,
        remember=lambda text: (Memory(Role.ASSISTANT, text, name=soul.display_name, metadata={"verb": verb}),),
        role=ModelRole.PERSONA,
        visible=lambda: spoken_text(soul),
        max_output_tokens=4096,
        read_cut=read,
        sees=True,
    )


def spoken_text(soul: Soul) -> SpokenText:
    return SpokenText(soul.display_name, (*PRIVATE_VERBS, *soul.private_verbs))


def read_spoken(soul: Soul, answer: str) -> str:
    """Return what an answer says aloud. Raises MalformedReply for a private thought, and for nothing."""
    spoken = spoken_text(soul)
    text = spoken.feed(answer) + spoken.finish()
    if spoken.is_thought or not text.strip():
        raise MalformedReply(
            "it holds nothing that can be said aloud", reply=answer, hint="write only the words to be said"
        )
    return text
