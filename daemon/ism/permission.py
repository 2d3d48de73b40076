"""Asks to be allowed one exact act, by buttons under the reply, and carries it out once when it was allowed."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from daemon.core.errors import ChannelError, ToolFailed
from daemon.core.perception import ConversationKey, Modality, Place
from daemon.core.ports import Passage
from daemon.core.working_memory import WorkingMemory
from daemon.ism.problem import Problem
from daemon.memory.queues.approvals import Approval, Approvals, NewApproval
from daemon.memory.queues.cross_posts import CrossPost
from daemon.mind.mental_process import ProcessContext, Stay

POST_ELSEWHERE = "carry"
"""The act of saying something elsewhere; a tool of a server has its name, which holds a slash."""

_SHOWN_CAP = 3_000  # characters of what is to be allowed that a question can show; more than that can't be asked for

_STANDING = {
    "waiting": "not decided yet; nothing was done.",
    "approved": "allowed, but not done.",
    "refused": "refused; nothing was done.",
    "expired": "the permission has grown old; nothing was done.",
    "used": "done once, as allowed.",
    "failed": "tried as allowed, but it failed; nothing was done.",
}
_UNKNOWN = "begun as allowed, but it can't be told whether it was done. It will not be tried again."


@dataclass(frozen=True, slots=True)
class Asked:
    """An act that somebody is to allow: `asked` are the platform ids of those who may, `arguments` what is done.

    `shown` is exactly that for people to read, under `words`.
    """

    tool: str
    arguments: Mapping[str, object]
    asked: tuple[str, ...]
    words: str
    shown: str


@dataclass(frozen=True, slots=True)
class Done:
    """What came of an act: `told` in the house's own words, for everybody; `remark` and `passages` are data."""

    told: str
    passages: tuple[Passage, ...] = ()
    remark: str = ""


async def ask_permission(context: ProcessContext, problem: Problem, memory: WorkingMemory, act: Asked) -> Stay:
    """Ask, show exactly what will be done, and park the problem until somebody has decided.

    Raises ToolFailed when it is too much to be shown, since nobody can allow what they can't see, where nobody can
    click, when just this was asked already and nobody has decided yet, and when a decision has only now come of it.
    """
    if context.perception.place is Place.TERMINAL:
        raise ToolFailed(f"{act.tool} needs a click, which can only be given in Slack")
    if len(act.shown) > _SHOWN_CAP:
        raise ToolFailed(f"{act.tool} can't be asked for: what it would do is too long to be shown")
    before = await still_open(context, problem)
    if before is not None and _same(before, act):
        raise ToolFailed(f"{act.tool} with just this was asked for already, and nobody has decided yet")
    await _refuse_insisting(context, act)
    approval = secrets.token_hex(8)
    due = context.mind.clock.now_ms() + int(context.capabilities.approval_seconds * 1000)
    context.motor.ask_permission(NewApproval(approval, act.tool, act.arguments, act.asked, due))
    context.motor.settle(f"{act.words}\n\n{_block(act.shown)}")
    problem.approval = approval
    return Stay(memory)


async def _refuse_insisting(context: ProcessContext, act: Asked) -> None:
    """Raises ToolFailed in a turn that a decision began, in which nobody has spoken, for what was decided on just then.

    Where nobody decided in time nothing at all is asked: a question into an empty room would come round for ever.
    """
    approvals, perception = context.capabilities.approvals, context.perception
    if approvals is None or perception.modality is not Modality.DECISION:
        return
    if perception.params.get("expired"):
        raise ToolFailed("nobody decided in time; ask for nothing more before somebody has spoken again")
    decided = await approvals.status(str(perception.params.get("approval", "")))
    if decided is not None and _same(decided, act):
        raise ToolFailed(f"that was decided on just now and isn't asked again: {status_sentence(decided)}")


def _same(asked: Approval, act: Asked) -> bool:
    """Whether an act is the one that was asked for; of words to somebody the addressee counts, not their form."""
    if asked.tool == act.tool == POST_ELSEWHERE:
        return asked.arguments.get("to") == act.arguments.get("to")
    return (asked.tool, dict(asked.arguments)) == (act.tool, dict(act.arguments))


async def still_open(context: ProcessContext, problem: Problem) -> Approval | None:
    """The question for permission that the problem asked before, if nobody has decided it yet."""
    approvals = context.capabilities.approvals
    known = await approvals.status(problem.approval) if approvals is not None and problem.approval else None
    return known if known is not None and known.state == "waiting" else None


async def carry_out(context: ProcessContext, approval: str) -> Done:
    """Do what was allowed, at most once ever. Nothing is done where the autonomous loop is not enabled any more."""
    approvals = context.capabilities.approvals
    known = await approvals.status(approval) if approvals is not None else None
    if approvals is None or known is None:
        return Done("What was asked for is not known any more; nothing was done.")
    if context.capabilities.limits is None:
        return Done(status_sentence(known))
    if known.tool == POST_ELSEWHERE:
        return await _send(context, known)
    if await approvals.begin_use(approval) is None:
        return Done(status_sentence(await approvals.status(approval) or known))
    return await _use(context, approvals, known)


def status_sentence(approval: Approval) -> str:
    """How an act stands, as a plain sentence for whoever asks what came of it."""
    return f"{_called(approval)}: {_STANDING.get(approval.state, _UNKNOWN)}"


def _called(approval: Approval) -> str:
    if approval.tool == POST_ELSEWHERE:
        return f"The message to {approval.arguments.get('name') or 'somebody else'}"
    return f"`{approval.tool}`"


async def _send(context: ProcessContext, allowed: Approval) -> Done:
    """Have words said elsewhere, which the commit of this very reply does, as long as the permission holds."""
    age = context.mind.clock.now_ms() - (allowed.decided_ms or 0)
    if allowed.state == "approved" and age > allowed.expires_ms - allowed.created_ms:
        return Done(f"{_called(allowed)}: {_STANDING['expired']}")
    if allowed.state != "approved":
        return Done(status_sentence(allowed))
    try:
        room = await context.capabilities.find_room(str(allowed.arguments["to"]))
    except ChannelError as error:
        return Done(f"{_called(allowed)}: it can't be written there just now; nothing was sent.", remark=error.message)
    here = context.perception.conversation
    there = ConversationKey(here.soul, here.workspace, room.channel)
    context.motor.post_elsewhere(
        CrossPost(allowed.id, there, room.place, room.audience, str(allowed.arguments["summary"]))
    )
    return Done(f"{_called(allowed)}: on its way, word for word.")


async def _use(context: ProcessContext, approvals: Approvals, begun: Approval) -> Done:
    """Use a tool whose one use has begun, and write down how it ended."""
    called, toolbox = _called(begun), context.capabilities.toolbox
    if toolbox is None:
        await approvals.finish_use(begun.id, "failed")
        return Done(f"{called}: not there any more; nothing was done.")
    try:
        passage = await toolbox.use(begun.tool, begun.arguments)
    except ToolFailed as error:
        await approvals.finish_use(begun.id, "unknown" if error.uncertain else "failed")
        return Done(f"{called}: {_UNKNOWN if error.uncertain else _STANDING['failed']}", remark=error.message)
    await approvals.finish_use(begun.id, "used")
    return Done(f"{called}: {_STANDING['used']}", (passage,))


def plain_sight(text: str) -> str:
    """Text in which nothing is hidden: what can't be seen, or turns letters round, is written out as an escape."""
    return "".join(
        one if one.isprintable() or one == "\n" else one.encode("unicode_escape").decode("ascii") for one in text
    )


def _block(shown: str) -> str:
    """Text as a code block that nothing in it can end."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", shown)), default=0))
    return f"{fence}\n{shown}\n{fence}"
