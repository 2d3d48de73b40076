"""The step that chooses exactly one of several options (seed 000, creativity 0.4)."""

import json
from collections.abc import Sequence

from daemon.core.errors import MalformedReply
from daemon.core.ports.services import Effort
from daemon.core.step import Step
from daemon.core.working_memory import thought
from daemon.mind.prompts import prompt
from daemon.mind.structured import JSONAnswer, structured_step


class _Choice(JSONAnswer):
    choice: str


def decision(question: str, options: Sequence[str]) -> Step[str]:
    """Build the step. Its value is one of `options`. Raises ValueError for fewer than two or equal options."""
    known = {option.strip().casefold(): option for option in options}
    if len(known) < max(len(options), 2):
        raise ValueError("a decision needs at least two options, all different")
    listed = "; ".join(options)

    def take(answer: _Choice) -> str:
        chosen = known.get(answer.choice.strip().casefold())
        if chosen is None:
            raise MalformedReply("its choice is none of the options", hint=f"choose one of: {listed}")
        return chosen

    return structured_step(
        "decision",
        prompt("decision", question=question, options=listed),
        _Choice,
        take,
        remember=lambda chosen: (thought(f"{question} {chosen}", "decided"),),
        creativity=0.4,
        effort=Effort.MEDIUM,
        choices={"choice": options},
        placeholder=json.dumps({"choice": options[0]}),
        max_output_tokens=256,
        reads_cut=True,
    )
