"""The step that chooses exactly one of several options (seed 000, creativity 0.4)."""

import json
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from daemon.core.errors import MalformedReply
from daemon.core.step import Step
from daemon.core.working_memory import thought
from daemon.mind.prompts import prompt
from daemon.mind.reply import structured


class _Choice(BaseModel):
    model_config = ConfigDict(extra="forbid")

    choice: str


def decision(question: str, options: Sequence[str]) -> Step[str]:
    """Build the step. Its value is one of `options`. Raises ValueError for fewer than two or equal options."""
    known = {option.strip().casefold(): option for option in options}
    if len(known) < max(len(options), 2):
        raise ValueError("a decision needs at least two options, all different")
    json_schema, read_choice = structured(_Choice)
    listed = "; ".join(options)

    def read(answer: str) -> str:
        chosen = known.get(read_choice(answer).choice.strip().casefold())
        if chosen is None:
            raise MalformedReply("its choice is none of the options", reply=answer, hint=f"choose one of: {listed}")
        return chosen

    return Step(
        name="decision",
        command=prompt("decision", question=question, options=listed),
        read=read,
        remember=lambda chosen: (thought(f"{question} {chosen}", "decided"),),
        creativity=0.4,
        json_schema={**json_schema, "properties": {"choice": {"type": "string", "enum": list(options)}}},
        placeholder=json.dumps({"choice": options[0]}),
        max_output_tokens=256,
        read_cut=read,
    )
