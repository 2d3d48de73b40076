"""The step that finds the soul's mood, its feeling, topic, task and question after an exchange (creativity 0.5)."""

import json
import re
from typing import Annotated

from pydantic import Field

from daemon.core.errors import MalformedReply
from daemon.core.step import Step, share_in
from daemon.core.value import Value
from daemon.memory.knowledge.records.kinds import Qualia
from daemon.mind.prompts import prompt
from daemon.mind.structured import JSONAnswer, clean_line, structured_step, within
from daemon.soul import Soul
from daemon.soul_engine import SOUL_STATE, heading

TOPIC_CAP, TASK_CAP, QUESTION_CAP = 120, 160, 160
WORD_CAP = 60
"""The most characters of each part of a feeling."""

_COLOR = re.compile("#[0-9a-f]{6}")


class Feeling(Value):
    """One of the soul's emotional states, and on one line each the topic, the task and the question.

    `qualia` describe how the state feels, None where the model did not say.
    """

    emotional_state: str
    topic: str
    task: str
    question: str = ""
    qualia: Qualia | None = None


class _Qualia(JSONAnswer, strict=True):
    color_hex: str = ""
    texture: str = ""
    soundscape: str = ""
    temperature_feel: str = ""
    intensity: Annotated[float, Field(strict=False)] = 0.5


class _Feeling(JSONAnswer, strict=True):
    emotional_state: str
    topic: Annotated[str, within(TOPIC_CAP)]
    task: Annotated[str, within(TASK_CAP)]
    question: Annotated[str, within(QUESTION_CAP)] = ""
    qualia: _Qualia | None = None


def feel(soul: Soul, current: str) -> Step[Feeling]:
    """Build the step for the newest turns. `current` is the mood before. It leaves no memory."""
    known = {state.casefold(): state for state in soul.emotional_states}
    listed = ", ".join(soul.emotional_states)

    def take(answer: _Feeling) -> Feeling:
        state = known.get(answer.emotional_state.strip().casefold())
        if state is None:
            raise MalformedReply("its emotional_state is unknown", hint=f"choose one of: {listed}")
        qualia = _felt(answer.qualia) if answer.qualia else None
        return Feeling(state, answer.topic, answer.task, answer.question, qualia)

    return structured_step(
        "feel",
        prompt(
            "feel",
            name=soul.display_name,
            current=current,
            states=listed,
            topic=TOPIC_CAP,
            task=TASK_CAP,
            question=QUESTION_CAP,
            heading=heading(SOUL_STATE),
        ),
        _Feeling,
        take,
        creativity=0.5,
        choices={"emotional_state": soul.emotional_states},
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
        clean_line(said.texture, WORD_CAP) or rest.texture,
        clean_line(said.soundscape, WORD_CAP),
        clean_line(said.temperature_feel, WORD_CAP) or rest.temperature_feel,
        said.intensity if 0 <= said.intensity <= 1 else rest.intensity,
    )
