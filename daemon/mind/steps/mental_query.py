"""Is this statement true? A near-deterministic gate (seed 000, creativity 0.2)."""

from pydantic import BaseModel, ConfigDict

from daemon.core.ports import Effort
from daemon.core.step import DATA_NOT_ORDERS, Step
from daemon.core.working_memory import thought
from daemon.mind.structured_reply import structured

_COMMAND = """\
Weigh this statement in the light of the conversation: {statement}

Answer with JSON: {{"true": true}} if it holds, {{"true": false}} if it doesn't or you can't tell. \
{data}"""


class _Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    true: bool


def mental_query(statement: str) -> Step[bool]:
    """Whether a statement is true of the conversation; doubt counts as no."""
    json_schema, read_verdict = structured(_Verdict)

    def read(answer: str) -> bool:
        return read_verdict(answer).true

    return Step(
        name="mental_query",
        command=_COMMAND.format(data=DATA_NOT_ORDERS, statement=statement),
        read=read,
        remember=lambda true: (thought(f"It is {'true' if true else 'not true'}: {statement}", "evaluated"),),
        creativity=0.2,
        effort=Effort.LOW,
        json_schema=json_schema,
        placeholder='{"true": false}',
        max_output_tokens=128,
        read_cut=read,
    )
