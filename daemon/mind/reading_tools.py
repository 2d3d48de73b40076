"""Uses the tools with which a thought reads (seed 002, *Motor*); tools that change anything need a click."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from daemon.core.authority import Authority, Level
from daemon.core.errors import ToolFailed
from daemon.core.expectations import Spent
from daemon.core.lineage import saw
from daemon.core.ports.library import Tool
from daemon.core.text import shortened
from daemon.core.value import Value
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.memory.mind.allowing import KnownOutcome
from daemon.memory.thought_parts import ThoughtPart
from daemon.mind.process import ProcessContext
from daemon.mind.recall import allowed_of
from daemon.mind.thought import CognitiveOutput, in_effect
from daemon.mind.thought.cognitive_output import ThoughtToolCall
from daemon.soul_engine import RESULTS

MOST_CALLS: Final = 3
MOST_NAMED: Final = 12
LONGEST_RESULT: Final = 6_000
"""The most characters of one tool's result that the next thought is shown."""

_FIELD: Final = "tool_calls"
_NAME: Final = re.compile(r"[\w.-]{1,40}/[\w.-]{1,80}")  # what else a server calls its tools could be an order
_ARGUMENT: Final = re.compile(r"[A-Za-z_][\w-]{0,30}")
_MOST_ARGUMENTS: Final = 6


@dataclass(slots=True)
class ToolsUsed:
    """The results of the tools that a thought asked for, as data, and why other tools were not used."""

    results: list[Memory] = field(default_factory=list)
    done: int = 0
    refused: list[str] = field(default_factory=list)

    @property
    def parts(self) -> tuple[ThoughtPart, ...]:
        return (KnownOutcome(_FIELD, self.done, tuple(self.refused)),) if self.done or self.refused else ()

    def refuse(self, name: str, reason: str) -> None:
        self.refused.append(reason)
        self.results.append(Memory(Role.USER, f"not used: {reason}", name=shortened(name, 80), metadata=saw()))


class ReadingTools(Value):
    """The tools for a thought. `begun` is when its cycle began to think (monotonic seconds).

    `authority` is what the functions of its mind may do by themselves.
    """

    tools: tuple[Tool, ...]
    begun: float
    authority: Authority

    @property
    def described(self) -> tuple[str, ...]:
        if self.authority.of(_FIELD) is Level.KEPT:
            return ()
        return tuple(_described(tool) for tool in self.tools if not tool.writes)[:MOST_NAMED]

    async def use_allowed(self, context: ProcessContext) -> ToolsUsed:
        return await self._use(context, allowed_of(context.cycle.thoughts).tool_calls, looks=True)

    async def use(self, context: ProcessContext, output: CognitiveOutput, *, looks: bool) -> ToolsUsed:
        """Use the reading tools that a thought asks for. Without another look, use none."""
        return await self._use(context, in_effect(output, self.authority).tool_calls, looks=looks)

    async def _use(self, context: ProcessContext, calls: Sequence[ThoughtToolCall], *, looks: bool) -> ToolsUsed:
        used, known = ToolsUsed(), {tool.name: tool for tool in self.tools}
        for number, call in enumerate(calls):
            tool = known.get(call.tool)
            if tool is None:
                used.refuse(call.tool, "unknown")
            elif tool.writes:
                used.refuse(tool.name, "needs_click")
            elif not _fits(tool, call.arguments):
                used.refuse(tool.name, "out_of_range")
            elif number >= MOST_CALLS or not looks:
                used.refuse(tool.name, "too_many")
            elif self._is_spent(context):
                used.refuse(tool.name, "budget")
            else:
                used.results.append(await _result(context, tool, call.arguments))
                used.done += 1
        return used

    def _is_spent(self, context: ProcessContext) -> bool:
        limits, (tokens, usd) = context.cycle.limits, context.cycle.usage()
        seconds = context.mind.clock.monotonic() - self.begun
        return limits is None or bool(limits.met_by(Spent(0, tokens, usd, seconds)))


async def reading_tools_of(context: ProcessContext) -> ReadingTools:
    """Return the tools for a thought before these readers, none where the autonomous loop may not run."""
    toolbox, begun = context.capabilities.toolbox, context.mind.clock.monotonic()
    offered = () if toolbox is None or context.cycle.limits is None else await toolbox.tools()
    tools = tuple(one for one in offered if _NAME.fullmatch(one.name))
    return ReadingTools(tools, begun, context.cycle.thoughts.authority)


def with_results(memory: WorkingMemory, used: ToolsUsed) -> WorkingMemory:
    """Add the results of tools, as data, after earlier results."""
    return memory.with_region(RESULTS, *memory.region(RESULTS), *used.results) if used.results else memory


async def _result(context: ProcessContext, tool: Tool, arguments: Mapping[str, object]) -> Memory:
    assert context.capabilities.toolbox is not None  # it offered the tool
    try:
        passage = await context.capabilities.toolbox.use(tool.name, arguments, tool.fingerprint)
    except ToolFailed as error:
        return Memory(Role.USER, f"it failed: {shortened(error.message, 400)}", name=tool.name, metadata=saw())
    return Memory(Role.USER, passage.text[:LONGEST_RESULT], name=tool.name, metadata=saw())


def _fits(tool: Tool, arguments: Mapping[str, object]) -> bool:
    required = tool.parameters.get("required")
    return not isinstance(required, list) or set(map(str, required)) <= arguments.keys()


def _described(tool: Tool) -> str:
    properties, required = tool.parameters.get("properties"), tool.parameters.get("required")
    names = [one for one in properties if _ARGUMENT.fullmatch(str(one))] if isinstance(properties, dict) else []
    needed = required if isinstance(required, list) else []
    shown = [name if name in needed else f"{name}?" for name in names[:_MOST_ARGUMENTS]]
    return f"{tool.name}({', '.join(shown)})"
