"""The action Research: search earlier conversations and the admin's folders, and use the tools of MCP servers."""

import json

from daemon.core.errors import ModelError, ToolFailed
from daemon.core.ports.library import Passage
from daemon.core.text import one_line
from daemon.core.words import terms_of
from daemon.ism.machine import Action, ActionUse, Recurse
from daemon.ism.permission import PermissionRequest, ask_permission, plain_sight
from daemon.ism.problem import Problem, with_input
from daemon.ism.sources import Sources, tools_of
from daemon.mind.extended_steps import with_soul_creativity
from daemon.mind.process import ProcessContext, Stay
from daemon.mind.reply import words_aloud
from daemon.mind.steps.brainstorm import brainstorm
from daemon.mind.steps.use_tool import ToolUse, use_tool, with_tools

_OF_EACH = 4  # passages from each place
_PHRASES = 3
_REWORD = (
    'Nothing was found for what stands under "Aim". Under which other words may it have been written down? Give search '
    "phrases of one to four words."
)


def research(context: ProcessContext, problem: Problem, sources: Sources) -> Action:
    """Build the action. Its input says what to look for. Read opens passages by number, and the reply cites them."""

    async def handle(use: ActionUse) -> Recurse | Stay:
        chosen = await _choose_tool(context, use)
        if chosen is not None and chosen.tool.writes:
            return await _ask_for_tool(context, problem, use, chosen)
        passages, failed = await _search(context, use.input), ""
        sought = use.input
        if chosen is not None and context.capabilities.toolbox is not None:
            try:
                tool = chosen.tool
                passages.append(await context.capabilities.toolbox.use(tool.name, chosen.arguments, tool.fingerprint))
            except ToolFailed as error:
                failed = f"{chosen.tool.name} failed: {error.message}"
        if not passages:
            passages, sought = await _search_reworded(context, use)
        found = problem.add(passages, terms_of(sought))
        return use.recurse(observation="\n\n".join(part for part in (found, failed) if part) or "Nothing was found.")

    limits = context.cycle.limits
    acts = any(tool.writes for tool in sources.tools) and limits is not None and not limits.reads_only
    return Action(
        "Research",
        f"search {sources.described}{' at once, or have a tool do something after a click' if acts else ' at once'}; "
        "what is found is numbered; input: what to look for, in two to six telling words as they may stand in the text"
        f"{', or what is to be done' if acts else ''}",
        handle,
        aloud=lambda words: one_line(words_aloud(words)),
    )


async def _search(context: ProcessContext, query: str) -> list[Passage]:
    library = context.capabilities.library
    passages = [one for one in await context.cycle.recollect(query, _OF_EACH) if not one.only_asks]
    if library is not None:
        passages += await library.search(query, _OF_EACH)
    for passage in passages:  # not what a tool answers: its author could name a host of theirs
        if passage.names_hosts:
            context.cycle.cite(passage.text)
    return passages


async def _search_reworded(context: ProcessContext, use: ActionUse) -> tuple[list[Passage], str]:
    """Search documents again with other words (Open Souls' RAG). Return the passages and these words."""
    library = context.capabilities.library
    if not use.input or library is None or not library.folders:
        return [], ""
    try:
        _, phrases = await context.mind.run(
            with_input(use.memory, use.input), with_soul_creativity(context.soul, brainstorm(_REWORD, count=_PHRASES))
        )
    except ModelError:
        return [], ""
    found = [passage for phrase in phrases for passage in await _search(context, phrase)]
    return list(dict.fromkeys(found))[: 2 * _OF_EACH], " ".join(phrases)


async def _choose_tool(context: ProcessContext, use: ActionUse) -> ToolUse | None:
    tools = await tools_of(context)
    if not tools:
        return None
    want = use.input or "what the person needs"
    step = with_soul_creativity(context.soul, use_tool(want, tools))
    _, chosen = await context.mind.run(with_tools(use.memory, want, tools), step)
    return chosen


async def _ask_for_tool(context: ProcessContext, problem: Problem, use: ActionUse, chosen: ToolUse) -> Stay | Recurse:
    """Ask the users who may allow the tool.

    A destructive tool is asked of the approvers that the admin named. Without such approvers it is not used, and a
    line below the reply says so.
    """
    approvers = chosen.tool.approvers or context.capabilities.approvers
    if chosen.tool.destroys and not approvers:
        sentence = context.motor.words.say("no_approver", tool=chosen.tool.name)
        context.motor.add_below(f"_({sentence})_")
        return use.recurse(observation=sentence)
    request = PermissionRequest(
        tool=chosen.tool.name,
        arguments=chosen.arguments,
        approvers=approvers or (problem.asker or context.perception.author,),
        question=context.motor.words.say("ask_tool", tool=chosen.tool.name),
        shown=plain_sight(json.dumps(chosen.arguments, ensure_ascii=False, indent=2)),
        fingerprint=chosen.tool.fingerprint,
    )
    return await ask_permission(context, problem, use.memory, request)
