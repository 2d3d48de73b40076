"""The step that comes up with several different ideas (seed 000, creativity 0.9)."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from daemon.core.errors import MalformedReply
from daemon.core.step import Step
from daemon.core.working_memory import thought
from daemon.mind.prompts import prompt
from daemon.mind.reply import structured

_IDEA_CAP = 500


class _Ideas(BaseModel):
    model_config = ConfigDict(extra="forbid")

    ideas: list[Annotated[str, Field(max_length=_IDEA_CAP)]]


def brainstorm(topic: str, *, count: int = 5) -> Step[tuple[str, ...]]:
    """Build the step for one to `count` different ideas. Raises ValueError for a count below one."""
    if count < 1:
        raise ValueError("a brainstorm needs room for at least one idea")
    json_schema, read_ideas = structured(_Ideas)

    def read(answer: str) -> tuple[str, ...]:
        ideas = tuple(dict.fromkeys(idea.strip() for idea in read_ideas(answer).ideas if idea.strip()))[:count]
        if not ideas:
            raise MalformedReply("it holds no idea", reply=answer, hint=f"give {count} ideas")
        return ideas

    return Step(
        name="brainstorm",
        command=prompt("brainstorm", topic=topic, count=count),
        read=read,
        remember=lambda ideas: (thought("\n- ".join((topic, *ideas)), "brainstormed"),),
        creativity=0.9,
        json_schema=json_schema,
        placeholder='{"ideas": ["No language model is set up, so there are no ideas yet."]}',
        max_output_tokens=1024,
        read_cut=read,
    )
