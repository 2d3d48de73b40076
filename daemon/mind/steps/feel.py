"""The step that finds the soul's mood, its feeling, topic, task and question after an exchange (creativity 0.5)."""

import json
import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from daemon.core.errors import MalformedReply
from daemon.core.ports.services import Effort
from daemon.core.step import Step, share_in
from daemon.core.telemetry.redaction import remove_keys
from daemon.core.text import one_line, shortened
from daemon.memory.knowledge.records.kinds import Qualia
from daemon.mind.prompts import prompt
from daemon.mind.reply import structured
from daemon.soul import Soul
from daemon.soul_engine import SOUL_STATE, heading

TOPIC_CAP, TASK_CAP, QUESTION_CAP = 120, 160, 160
WORD_CAP = 60
"""The most characters of each part of a feeling."""

_COLOR = re.compile("#[0-9a-f]{6}")


@dataclass(frozen=True, slots=True)
class Feeling:
    """One of the soul's emotional states, and on one line each the topic, the task and the question.

    `qualia` describe how the state feels, None where the model did not say.
    """

    emotional_state: str
    topic: str
    task: str
    question: str = ""
    qualia: Qualia | None = None


class _Qualia(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    color_hex: str = ""
    texture: str = ""
    soundscape: str = ""
    temperature_feel: str = ""
    intensity: Annotated[float, Field(strict=False)] = 0.5


class _Feeling(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    emotional_state: str
    topic: str
    task: str
    question: str = ""
    qualia: _Qualia | None = None


def feel(soul: Soul, current: str) -> Step[Feeling]:
    """Build the step for the newest turns. `current` is the mood before. It leaves no memory."""
    json_schema, read_feeling = structured(_Feeling)
    known = {state.casefold(): state for state in soul.emotional_states}
    listed = ", ".join(soul.emotional_states)

    def read(answer: str) -> Feeling:
        found = read_feeling(answer)
        state = known.get(found.emotional_state.strip().casefold())
        if state is None:
            raise MalformedReply("its emotional_state is unknown", reply=answer, hint=f"choose one of: {listed}")
        question = _line(found.question, QUESTION_CAP)
        qualia = _felt(found.qualia) if found.qualia else None
        return Feeling(state, _line(found.topic, TOPIC_CAP), _line(found.task, TASK_CAP), question, qualia)

    return Step(
        name="feel",
        command=prompt(
            "feel",
            name=soul.display_name,
            current=current,
            states=listed,
            topic=TOPIC_CAP,
            task=TASK_CAP,
            question=QUESTION_CAP,
            heading=heading(SOUL_STATE),
        ),
        read=read,
        remember=lambda _: (),
        creativity=0.5,
        effort=Effort.LOW,
        json_schema=_with_states(json_schema, soul.emotional_states),
        placeholder=json.dumps({"emotional_state": soul.emotional_states[0], "topic": "", "task": "", "question": ""}),
        max_output_tokens=384,
    )


def qualia_in(words: str) -> Qualia | None:
    """Read the qualia of a whole thought, divided by commas: colour, texture, soundscape, temperature, intensity."""
    said = [part.strip() for part in words.replace("|", ",").split(",")]
    said = ["", *said] if said[0] and not said[0].startswith("#") else said
    color, texture, soundscape, temperature, intensity = (*said, "", "", "", "")[:5]
    if not texture:
        return None
    return _felt(
        _Qualia(
            color_hex=color,
            texture=texture,
            soundscape=soundscape,
            temperature_feel=temperature,
            intensity=share_in(intensity, 0.5),
        )
    )


def _felt(said: _Qualia) -> Qualia:
    rest = Qualia()
    color = said.color_hex.strip().lower()
    return Qualia(
        color if _COLOR.fullmatch(color) else rest.color_hex,
        _line(said.texture, WORD_CAP) or rest.texture,
        _line(said.soundscape, WORD_CAP),
        _line(said.temperature_feel, WORD_CAP) or rest.temperature_feel,
        said.intensity if 0 <= said.intensity <= 1 else rest.intensity,
    )


def _with_states(json_schema: object, states: tuple[str, ...]) -> dict[str, object]:
    assert isinstance(json_schema, dict)
    properties = {**json_schema["properties"], "emotional_state": {"type": "string", "enum": list(states)}}
    return {**json_schema, "properties": properties}


def _line(text: str, cap: int) -> str:
    return shortened(one_line(remove_keys(text)), cap)
