"""The step that chooses a tool and its arguments, or none of the tools."""

import json
import re
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, field_validator

from daemon.core.errors import MalformedReply
from daemon.core.ports.library import Tool
from daemon.core.ports.services import Effort
from daemon.core.step import Step
from daemon.core.value import Value
from daemon.core.working_memory import WorkingMemory, thought
from daemon.mind.prompts import prompt
from daemon.mind.structured import structured_step
from daemon.soul_engine import with_notes

MOST = 24
"""The most tools shown for one choice: those whose descriptions share most words with what is wanted."""

WANTED = "wanted"
"""The region of what is wanted: a model's words, which may quote any user."""

TOOLS = tuple(f"tool_{number}" for number in range(1, MOST + 1))
"""The regions of the tools' descriptions, each with a separate budget: data, since third parties wrote them."""

_DESCRIPTION, _SCHEMA = 300, 1_500  # characters shown of each
_NONE = "none"
_WORD = re.compile(r"[^\W_]{3,}")


class _Call(BaseModel):
    tool: str
    arguments: dict[str, object] = {}

    @field_validator("arguments", mode="before")
    @classmethod
    def _as_values(cls, given: object) -> object:
        """Parse arguments given as JSON text. Missing arguments count as none."""
        if given is None or given == "":
            return {}
        try:
            return json.loads(given) if isinstance(given, str) else given
        except RecursionError as error:
            raise ValueError("it is nested too deep") from error


class ToolUse(Value):
    tool: Tool
    arguments: Mapping[str, object]


def with_tools(memory: WorkingMemory, want: str, tools: Sequence[Tool]) -> WorkingMemory:
    memory = with_notes(memory, WANTED, want)
    for region, tool in zip(TOOLS, _fitting(want, tools), strict=False):
        memory = with_notes(memory, region, _described(tool))
    return memory


def use_tool(want: str, tools: Sequence[Tool]) -> Step[ToolUse | None]:
    """Build the step that chooses a tool use, None for none. Run it on a memory prepared by `with_tools`."""
    known = {tool.name: tool for tool in _fitting(want, tools)}

    def take(call: _Call) -> ToolUse | None:
        name = call.tool.strip()
        if name.casefold() in ("", _NONE):
            return None
        if name not in known:
            raise MalformedReply("it names no tool that there is", hint=f"name one, or {_NONE!r}")
        return ToolUse(known[name], call.arguments)

    return structured_step(
        "use_tool",
        prompt("use_tool", none=_NONE),
        _Call,
        take,
        remember=lambda use: (thought(f"use {use.tool.name if use else 'no tool'}", "decided"),),
        effort=Effort.MEDIUM,
        placeholder=json.dumps({"tool": _NONE, "arguments": {}}),
        max_output_tokens=1024,
    )


def _fitting(want: str, tools: Sequence[Tool]) -> Sequence[Tool]:
    if len(tools) <= MOST:
        return tools
    wanted = _words(want)
    ranked = sorted(tools, key=lambda tool: -len(wanted & _words(f"{tool.name} {tool.description}")))[:MOST]
    return [tool for tool in tools if tool in ranked]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _described(tool: Tool) -> str:
    schema = json.dumps(tool.parameters, ensure_ascii=False)[:_SCHEMA]
    return f"{tool.name}: {' '.join(tool.description.split())[:_DESCRIPTION]}\narguments: {schema}"
