"""Is this statement true? A near-deterministic gate (seed 000, creativity 0.2)."""

from pydantic import BaseModel, ConfigDict

from daemon.core.ports import Effort
from daemon.core.step import Step
from daemon.core.working_memory import thought
from daemon.mind.structured_reply import structured

_COMMAND = """\
Weigh this statement in the light of the conversation: {statement}

Answer with JSON: {{"holds": true}} if it is true, {{"holds": false}} if it isn't or you can't tell."""

GATE_TURNS = 6
"""The newest turns that a gate is shown; it is shown neither personality nor notes."""


class _Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    holds: bool


def mental_query(statement: str) -> Step[bool]:
    """Whether a statement is true of the conversation; doubt counts as no."""
    json_schema, read_verdict = structured(_Verdict)

    def read(answer: str) -> bool:
        return read_verdict(answer).holds

    return Step(
        name="mental_query",
        command=_COMMAND.format(statement=statement),
        read=read,
        remember=lambda holds: (thought(f"It is {'true' if holds else 'not true'}: {statement}", "evaluated"),),
        creativity=0.2,
        effort=Effort.LOW,
        json_schema=json_schema,
        placeholder='{"holds": false}',
        max_output_tokens=128,
        read_cut=read,
        last_turns=GATE_TURNS,
    )
