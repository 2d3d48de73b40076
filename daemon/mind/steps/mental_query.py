"""The step that decides whether a statement is true: a near-deterministic gate (seed 000, creativity 0.2)."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

from daemon.core.ports.services import Effort
from daemon.core.step import EpistemicMode, Heard, Stated, Step, heard_in, stated_in
from daemon.core.working_memory import thought
from daemon.mind.prompts import prompt
from daemon.mind.reply import structured

GATE_TURNS = 6
"""The newest turns that a gate is shown. It is shown neither personality nor notes."""


class _Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    holds: bool


def _as_text(value: object) -> str:
    """Accept a value that a model wrote in another form than asked for, which is no reason to ask again."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")


_Text = Annotated[str, BeforeValidator(_as_text)]


class _Exchange(BaseModel):
    holds: bool
    emotion_signal: _Text = ""
    salience_anchor: _Text = ""
    intent: _Text = ""
    intent_confidence: _Text = ""
    epistemic_mode: _Text = ""
    confidence: _Text = ""


@dataclass(frozen=True, slots=True)
class Weighed:
    """The verdict on the statement, how the newest message was heard, and how the reply to it was stated."""

    holds: bool
    heard: Heard
    stated: Stated


def mental_query(statement: str) -> Step[bool]:
    """Build the step that decides whether a statement is true of the conversation. Doubt counts as no."""
    json_schema, read_verdict = structured(_Verdict)

    def read(answer: str) -> bool:
        return read_verdict(answer).holds

    return Step(
        name="mental_query",
        command=prompt("mental_query", statement=statement),
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


def weigh_exchange(statement: str) -> Step[Weighed]:
    """Build the step of `mental_query` that also fills in the fields that the reply left out."""
    asked = mental_query(statement)
    json_schema, read_exchange = structured(_Exchange)

    def read(answer: str) -> Weighed:
        found = read_exchange(answer)
        fields = found.model_dump(exclude={"holds"})
        heard = heard_in({**fields, "confidence": found.intent_confidence})
        return Weighed(found.holds, heard, stated_in(fields))

    return Step(
        name=asked.name,
        command=prompt("weigh_exchange", question=asked.command, modes=", ".join(EpistemicMode)),
        read=read,
        remember=lambda weighed: asked.remember(weighed.holds),
        creativity=asked.creativity,
        effort=asked.effort,
        json_schema=json_schema,
        placeholder=asked.placeholder,
        max_output_tokens=256,
        read_cut=read,
        last_turns=asked.last_turns,
    )
