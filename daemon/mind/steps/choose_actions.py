"""The step that chooses the next actions of autonomous work, or ends it (seed 001, creativity 0.4)."""

import json
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, field_validator

from daemon.core.ports.services import Effort
from daemon.core.step import Step
from daemon.core.text import one_line
from daemon.core.value import Value
from daemon.core.working_memory import Memory, thought
from daemon.mind.prompts import prompt
from daemon.mind.structured import structured_step

DONE = "DONE"
"""The reserved choice for a goal that is reached."""

MOST = 4
"""The most actions carried out from one choice."""

NAME_CAP, INPUT_CAP, REASONING_CAP = 80, 2_000, 600
"""The most characters kept of a name, an input and the reasoning in a choice."""


class ChosenAction(Value):
    """An action to carry out. `name` is an action's own name, or the model's text if no action has that name."""

    name: str
    input: str = ""


class Choice(Value):
    """The chosen `actions` in order, and `done` if the goal is reached after them.

    `left_out` counts the actions beyond the most that one choice may hold. `reasoning` is private.
    """

    actions: tuple[ChosenAction, ...]
    done: bool = False
    reasoning: str = ""
    left_out: int = 0


class _Named(BaseModel):
    name: str
    input: str = ""

    @field_validator("input", mode="before")
    @classmethod
    def _as_text(cls, given: object) -> str:
        if given is None or isinstance(given, str):
            return given or ""
        return json.dumps(given, ensure_ascii=False)


class _Answer(BaseModel):
    actions: list[_Named]
    reasoning: str = ""

    @field_validator("actions", mode="before")
    @classmethod
    def _as_list(cls, given: object) -> object:
        """Accept a bare name as an action without input (seed 001), and one action alone as a list of one."""
        listed = given if isinstance(given, list) else [given]
        return [{"name": one} if isinstance(one, str) else one for one in listed]

    @field_validator("reasoning", mode="before")
    @classmethod
    def _as_words(cls, given: object) -> str:
        return given if isinstance(given, str) else ""


def choose_actions(names: Sequence[str], *, most: int = MOST) -> Step[Choice]:
    """Build the step that chooses up to `most` of the actions with these names, described in working memory.

    Names match regardless of case. Unknown names are kept, to report them to the model. Raises ValueError for no
    names, equal names or the reserved name.
    """
    known = {_key(name): name for name in (*names, DONE)}
    if not names or len(known) <= len(names) or "" in known:
        raise ValueError(f"actions need names, all different, none of them {DONE}")

    def take(answer: _Answer) -> Choice:
        named = [(known.get(_key(one.name), one.name.strip()[:NAME_CAP]), one.input) for one in answer.actions]
        wanted = [ChosenAction(name, given.strip()[:INPUT_CAP]) for name, given in named if name != DONE]
        return Choice(
            actions=tuple(wanted[:most]),
            done=len(wanted) < len(named),
            reasoning=one_line(answer.reasoning)[:REASONING_CAP],
            left_out=max(0, len(wanted) - most),
        )

    return structured_step(
        "choose_actions",
        prompt("choose_actions", most=most, listed=", ".join(names), done=DONE),
        _Answer,
        take,
        remember=lambda choice: (_chosen(choice),),
        creativity=0.4,
        effort=Effort.MEDIUM,
        json_schema=_schema((*names, DONE)),
        placeholder=_placeholder(names),
        max_output_tokens=1024,
    )


def _key(name: str) -> str:
    return name.strip().casefold()


def _schema(names: Sequence[str]) -> Mapping[str, object]:
    action = _closed(name={"type": "string", "enum": list(names)}, input={"type": "string"})
    return _closed(reasoning={"type": "string"}, actions={"type": "array", "items": action})  # weighed before chosen


def _placeholder(names: Sequence[str]) -> str:
    name = "Respond" if "Respond" in names else DONE
    return json.dumps({"reasoning": "No language model is set up.", "actions": [{"name": name, "input": ""}]})


def _closed(**properties: Mapping[str, object]) -> Mapping[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _chosen(choice: Choice) -> Memory:
    listed = [f"{one.name} ({one.input})" if one.input else one.name for one in choice.actions]
    names = ", ".join((*listed, DONE) if choice.done else listed) or "nothing"
    because = f": {choice.reasoning}" if choice.reasoning else ""
    return thought(f"{names}{because}", "chose")
