"""The step that decides whether a statement is true: a near-deterministic gate (seed 000, creativity 0.2)."""

from typing import Annotated

from msgspec.structs import replace
from pydantic import BaseModel, BeforeValidator

from daemon.core.step import EpistemicMode, Heard, Stated, Step, heard_in, stated_in
from daemon.core.value import Value
from daemon.core.working_memory import thought
from daemon.mind.prompts import prompt
from daemon.mind.structured import JSONAnswer, structured_step

GATE_TURNS = 6
"""The newest turns that a gate is shown. It is shown neither personality nor notes."""


class _Verdict(JSONAnswer):
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


class Weighed(Value):
    """The verdict on the statement, how the newest message was heard, and how the reply to it was stated."""

    holds: bool
    heard: Heard
    stated: Stated


def mental_query(statement: str) -> Step[bool]:
    """Build the step that decides whether a statement is true of the conversation. Doubt counts as no."""
    step = structured_step(
        "mental_query",
        prompt("mental_query", statement=statement),
        _Verdict,
        lambda answer: answer.holds,
        remember=lambda holds: (thought(f"It is {'true' if holds else 'not true'}: {statement}", "evaluated"),),
        placeholder='{"holds": false}',
        max_output_tokens=128,
        reads_cut=True,
    )
    return replace(step, last_turns=GATE_TURNS)


def weigh_exchange(statement: str) -> Step[Weighed]:
    """Build the step of `mental_query` that also fills in the fields that the reply left out."""
    asked = mental_query(statement)

    def take(answer: _Exchange) -> Weighed:
        fields = answer.model_dump(exclude={"holds"})
        heard = heard_in({**fields, "confidence": answer.intent_confidence})
        return Weighed(answer.holds, heard, stated_in(fields))

    step = structured_step(
        asked.name,
        prompt("weigh_exchange", question=asked.command, modes=", ".join(EpistemicMode)),
        _Exchange,
        take,
        remember=lambda weighed: asked.remember(weighed.holds),
        placeholder=asked.placeholder,
        max_output_tokens=256,
        reads_cut=True,
    )
    return replace(step, last_turns=asked.last_turns)
