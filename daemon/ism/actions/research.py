"""Research: look something up in what was said, in the admin's folders, and with the tools of MCP servers."""

import json

from daemon.core.errors import ModelError, ToolFailed
from daemon.core.ports import Passage
from daemon.ism.aim import with_aim
from daemon.ism.machine import Action, ActionUse, Recurse
from daemon.ism.permission import Asked, ask_permission, plain_sight
from daemon.ism.problem import Problem
from daemon.mind.fixed_pipeline import with_soul_creativity
from daemon.mind.mental_process import ProcessContext, Stay
from daemon.mind.steps.brainstorm import brainstorm
from daemon.mind.steps.use_tool import ToolUse, tools_material, use_tool

_OF_EACH = 4  # passages from each place
_PHRASES = 3
_OTHERWISE = (
    'Nothing was found for what stands under "Aim". Under which other words may it have been written down? Give search '
    "phrases of one to four words."
)


def research(context: ProcessContext, problem: Problem) -> Action:
    """Its input says what to look for; what was found is numbered, so that it can be cited."""

    async def handle(use: ActionUse) -> Recurse | Stay:
        chosen = await _choose_tool(context, use)
        if chosen is not None and chosen.tool.writes:
            return await _may_i(context, problem, use, chosen)
        passages, failed = await _read_up(context, use.input), ""
        if chosen is not None and context.capabilities.toolbox is not None:
            try:
                passages.append(await context.capabilities.toolbox.use(chosen.tool.name, chosen.arguments))
            except ToolFailed as error:
                failed = f"{chosen.tool.name} failed: {error.message}"
        if not passages:
            passages = await _read_up_otherwise(context, use)
        found = problem.add(passages)
        return use.recurse(observation="\n\n".join(part for part in (found, failed) if part) or "Nothing was found.")

    return Action(
        "Research",
        "look something up, or have a tool do something: earlier talk, the documents and code at hand, and the tools "
        "there are; input: what to look for or to do, in a few telling words",
        handle,
    )


async def _read_up(context: ProcessContext, query: str) -> list[Passage]:
    capabilities = context.capabilities
    passages = list(await capabilities.recollect(query, _OF_EACH))
    if capabilities.library is not None:
        passages += await capabilities.library.search(query, _OF_EACH)
    return passages


async def _read_up_otherwise(context: ProcessContext, use: ActionUse) -> list[Passage]:
    """Look again under other words, since whoever wrote it down may have called it something else (Open Souls' RAG)."""
    if not use.input or context.capabilities.library is None:
        return []
    try:
        _, phrases = await context.mind.run(
            with_aim(use.memory, use.input), with_soul_creativity(context.soul, brainstorm(_OTHERWISE, count=_PHRASES))
        )
    except ModelError:
        return []
    found = [passage for phrase in phrases for passage in await _read_up(context, phrase)]
    return list(dict.fromkeys(found))[: 2 * _OF_EACH]


async def _choose_tool(context: ProcessContext, use: ActionUse) -> ToolUse | None:
    """The tool that may serve; without tools nobody is asked."""
    toolbox = context.capabilities.toolbox
    tools = await toolbox.tools() if toolbox is not None else ()
    if not tools:
        return None
    want = use.input or "what the person needs"
    step = with_soul_creativity(context.soul, use_tool(want, tools))
    _, chosen = await context.mind.run(tools_material(use.memory, want, tools), step)
    return chosen


async def _may_i(context: ProcessContext, problem: Problem, use: ActionUse, chosen: ToolUse) -> Stay:
    act = Asked(
        tool=chosen.tool.name,
        arguments=chosen.arguments,
        asked=context.capabilities.approvers or (problem.asker or context.perception.author,),
        words=f"To go on I would use `{chosen.tool.name}` with exactly this. May I?",
        shown=plain_sight(json.dumps(chosen.arguments, ensure_ascii=False, indent=2)),
    )
    return await ask_permission(context, problem, use.memory, act)
