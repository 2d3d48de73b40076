"""Asks to be allowed one exact act, by buttons under the reply, and carries it out once when it was allowed."""

import secrets
from collections.abc import Mapping

from daemon.errors import ToolFailed
from daemon.memory.approvals import NewApproval
from daemon.memory.errands import Errand
from daemon.mental_process import ProcessContext, Stay
from daemon.perception import ConversationKey
from daemon.ports import Passage
from daemon.solving.problem import Problem
from daemon.working_memory import WorkingMemory

CARRY = "carry"
"""The act of saying something elsewhere; a tool of a server has its name, which holds a slash."""

_SHOWN_CAP = 3_000  # characters of what is to be allowed that a question can show; more than that can't be asked for


def ask_permission(
    context: ProcessContext,
    problem: Problem,
    memory: WorkingMemory,
    *,
    tool: str,
    arguments: Mapping[str, object],
    asked: tuple[str, ...],
    words: str,
    shown: str,
) -> Stay:
    """Ask, show exactly what will be done, and park the problem until somebody has decided.

    Raises ToolFailed when it is too much to be shown, since nobody can allow what they can't see.
    """
    if len(shown) > _SHOWN_CAP:
        raise ToolFailed(f"{tool} can't be asked for: what it would do is too long to be shown")
    approval = secrets.token_hex(8)
    due = context.mind.clock.now_ms() + int(context.means.approval_seconds * 1000)
    context.motor.ask_permission(NewApproval(approval, tool, arguments, asked, due))
    context.motor.settle(f"{words}\n\n{_block(shown)}")
    problem.waits_for, problem.approval = "permission", approval
    return Stay(memory)


async def carry_out(context: ProcessContext, approval: str) -> tuple[str, tuple[Passage, ...]]:
    """Do what was allowed, at most once; gives what came of it, as an observation, and what a tool answered."""
    means, motor = context.means, context.motor
    known = await means.approvals.status(approval) if means.approvals else None
    if means.approvals is None or known is None:
        return "What was asked for is not known any more; nothing was done.", ()
    if known.tool == CARRY:
        room = await means.room_of(str(known.arguments["to"]))
        conversation = context.perception.conversation
        key = ConversationKey(conversation.soul, conversation.workspace, room.channel)
        motor.carry(Errand(approval, key, room.place, room.audience, str(known.arguments["summary"])))
        return f"It is on its way to {known.arguments['name']}.", ()
    if await means.approvals.begin_use(approval) is None:
        known = await means.approvals.status(approval) or known
        doubt = "it may have been done before a restart, which can't be told" if known.state == "unknown" else "no"
        return f"{known.tool} may not be used (again): {known.state}. Was it done just now? {doubt.capitalize()}.", ()
    return await _use(context, approval, known.tool, known.arguments)


async def _use(
    context: ProcessContext, approval: str, tool: str, arguments: Mapping[str, object]
) -> tuple[str, tuple[Passage, ...]]:
    """Use a tool whose one use has begun, and write down how it ended."""
    means = context.means
    assert means.approvals is not None  # its use has begun there
    if means.toolbox is None:
        await means.approvals.finish_use(approval, "failed")
        return f"{tool} is not there any more; nothing was done.", ()
    try:
        passage = await means.toolbox.use(tool, arguments)
    except ToolFailed as error:
        await means.approvals.finish_use(approval, "unknown" if error.uncertain else "failed")
        doubt = "It may have been done all the same." if error.uncertain else "Nothing was done."
        return f"{tool} failed: {error.message}. {doubt}", ()
    await means.approvals.finish_use(approval, "used")
    return f"{tool} was used as allowed.", (passage,)


def _block(shown: str) -> str:
    """Text as a code block that nothing in it can end."""
    longest = max((len(run) for run in shown.replace("`", "\0`").split("\0") if run), default=0)
    fence = "`" * max(3, longest + 1) if "```" in shown else "```"
    return f"{fence}\n{shown}\n{fence}"
