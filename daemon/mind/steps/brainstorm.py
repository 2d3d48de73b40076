"""The step that comes up with several different ideas (seed 000, creativity 0.9)."""

from typing import Annotated

from pydantic import Field

from daemon.core.errors import MalformedReply
from daemon.core.ports.services import Effort
from daemon.core.step import Step
from daemon.core.working_memory import thought
from daemon.mind.prompts import prompt
from daemon.mind.structured import JSONAnswer, structured_step

_IDEA_CAP = 500


class _Ideas(JSONAnswer):
    ideas: list[Annotated[str, Field(max_length=_IDEA_CAP)]]


def brainstorm(topic: str, *, count: int = 5) -> Step[tuple[str, ...]]:
    """Build the step for one to `count` different ideas. Raises ValueError for a count below one."""
    if count < 1:
        raise ValueError("a brainstorm needs room for at least one idea")

    def take(answer: _Ideas) -> tuple[str, ...]:
        ideas = tuple(dict.fromkeys(idea.strip() for idea in answer.ideas if idea.strip()))[:count]
        if not ideas:
            raise MalformedReply("it holds no idea", hint=f"give {count} ideas")
        return ideas

    return structured_step(
        "brainstorm",
        prompt("brainstorm", topic=topic, count=count),
        _Ideas,
        take,
        remember=lambda ideas: (thought("\n- ".join((topic, *ideas)), "brainstormed"),),
        creativity=0.9,
        effort=Effort.MEDIUM,
        placeholder='{"ideas": ["No language model is set up, so there are no ideas yet."]}',
        max_output_tokens=1024,
        reads_cut=True,
    )
