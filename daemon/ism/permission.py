"""Permission for one exact action, asked by buttons under the reply, and its execution after approval."""

import re
import secrets
from collections.abc import Mapping

from daemon.core.errors import ChannelError, ToolFailed
from daemon.core.perception import ConversationKey, Modality, Place
from daemon.core.ports.library import Passage
from daemon.core.sentences import HOUSE_WORDS, SENTENCES, Words
from daemon.core.value import Value
from daemon.core.working_memory import WorkingMemory
from daemon.ism.problem import Problem
from daemon.memory.queues.approvals import Approval, NewApproval
from daemon.memory.queues.handoffs import CrossPost
from daemon.mind.process import ProcessContext, Stay

POST_ELSEWHERE = "carry"
"""The action of posting in another conversation. Names of tools contain a slash, so none equals it."""

SHOWN_CAP = 3_000
"""The most characters that a question can show. A longer request can't be asked."""


class PermissionRequest(Value):
    """One action that needs permission. `approvers` are user ids of the platform.

    Users read the `question` and, under it, `shown`: exactly what will be done. `fingerprint` is the tool's, empty for
    an action of the daemon.
    """

    tool: str
    arguments: Mapping[str, object]
    approvers: tuple[str, ...]
    question: str
    shown: str
    fingerprint: str = ""


class ActionResult(Value):
    """The outcome of an approved action. `sentence` is the daemon's own and shown to users, the rest is data."""

    sentence: str
    passages: tuple[Passage, ...] = ()
    error: str = ""


async def ask_permission(
    context: ProcessContext, problem: Problem, memory: WorkingMemory, request: PermissionRequest
) -> Stay:
    """Ask, show exactly what will be done, and park the problem until there is a decision.

    Raises ToolFailed where buttons can't be clicked, and for a request that is too long, already open, or just
    decided.
    """
    if context.perception.place is Place.TERMINAL:
        raise ToolFailed(f"{request.tool} needs a click, which can only be given in Slack")
    if len(request.shown) > SHOWN_CAP:
        raise ToolFailed(f"{request.tool} can't be asked for: what it would do is too long to be shown")
    before = await still_open(context, problem)
    if before is not None and _is_same(before, request):
        raise ToolFailed(f"{request.tool} with just this was asked for already, and nobody has decided yet")
    await _refuse_insisting(context, request)
    approval = secrets.token_hex(8)
    due = context.mind.clock.now_ms() + int(context.capabilities.approval_seconds * 1000)
    context.motor.ask_permission(
        NewApproval(approval, request.tool, request.arguments, request.approvers, due, request.fingerprint)
    )
    context.motor.settle(f"{request.question}\n\n{code_block(request.shown)}")
    problem.approval = approval
    return Stay(memory)


async def _refuse_insisting(context: ProcessContext, request: PermissionRequest) -> None:
    """Raise ToolFailed if the decision that began this turn was about the same request.

    After an expired question nothing at all is asked. Otherwise questions without an answer would repeat for ever.
    """
    perception = context.perception
    if perception.modality is not Modality.DECISION:
        return
    if perception.params.get("expired"):
        raise ToolFailed("nobody decided in time; ask for nothing more before somebody has spoken again")
    decided = await context.capabilities.approvals.status(str(perception.params.get("approval", "")))
    if decided is not None and _is_same(decided, request):
        raise ToolFailed(f"that was decided on just now and isn't asked again: {status_sentence(decided)}")


def _is_same(approval: Approval, request: PermissionRequest) -> bool:
    """Return whether a request was asked before. For a message to a contact the addressee counts, not the wording."""
    if approval.tool == request.tool == POST_ELSEWHERE:
        return approval.arguments.get("to") == request.arguments.get("to")
    return (approval.tool, dict(approval.arguments)) == (request.tool, dict(request.arguments))


async def still_open(context: ProcessContext, problem: Problem) -> Approval | None:
    """Return the problem's last question for permission if it is not decided yet, else None."""
    known = await context.capabilities.approvals.status(problem.approval) if problem.approval else None
    return known if known is not None and known.state == "waiting" else None


async def carry_out(context: ProcessContext, approval: str) -> ActionResult:
    """Do what was approved, at most once ever. Do nothing where the whole loop is not enabled any more."""
    approvals, words = context.capabilities.approvals, context.motor.words
    known = await approvals.status(approval)
    if known is None:
        return ActionResult(words.say("act_gone"))
    if context.cycle.limits is None or context.cycle.limits.reads_only:
        return ActionResult(status_sentence(known, words))
    if known.tool == POST_ELSEWHERE:
        return await _post_elsewhere(context, known)
    if await approvals.begin_use(approval) is None:
        return ActionResult(status_sentence(await approvals.status(approval) or known, words))
    return await _use_tool(context, known)


def status_sentence(approval: Approval, words: Words = HOUSE_WORDS) -> str:
    key = f"act_{approval.state}"
    return _said(key if key in SENTENCES else "act_unknown", approval, words)


def _said(key: str, approval: Approval, words: Words) -> str:
    if approval.tool == POST_ELSEWHERE:
        name = str(approval.arguments.get("name") or words.say("a_contact"))
        return words.say(key, act=words.say("the_message", name=name))
    return words.say(key, act=f"`{approval.tool}`")


async def _post_elsewhere(context: ProcessContext, approval: Approval) -> ActionResult:
    """Post to a contact with the commit of this reply, while the permission is valid."""
    words, age = context.motor.words, context.mind.clock.now_ms() - (approval.decided_ms or 0)
    if approval.state == "approved" and age > approval.expires_ms - approval.created_ms:
        return ActionResult(_said("act_expired", approval, words))
    if approval.state != "approved":
        return ActionResult(status_sentence(approval, words))
    try:
        room = await context.capabilities.find_room(str(approval.arguments["to"]))
    except ChannelError as error:
        return ActionResult(_said("act_no_room", approval, words), error=error.message)
    here = context.perception.conversation
    there = ConversationKey(here.soul, here.workspace, room.channel)
    context.motor.post_elsewhere(
        CrossPost(approval.id, there, room.place, room.audience, str(approval.arguments["summary"]))
    )
    return ActionResult(_said("act_on_its_way", approval, words))


async def _use_tool(context: ProcessContext, approval: Approval) -> ActionResult:
    """Call the tool of an approval whose one use has begun, and record how it ended."""
    words, approvals, toolbox = context.motor.words, context.capabilities.approvals, context.capabilities.toolbox
    if toolbox is None:
        await approvals.finish_use(approval.id, "failed")
        return ActionResult(_said("act_not_here", approval, words))
    try:
        passage = await toolbox.use(approval.tool, approval.arguments, approval.fingerprint)
    except ToolFailed as error:
        await approvals.finish_use(approval.id, "unknown" if error.uncertain else "failed")
        key = "act_unknown" if error.uncertain else "act_failed"
        return ActionResult(_said(key, approval, words), error=error.message)
    await approvals.finish_use(approval.id, "used")
    return ActionResult(_said("act_used", approval, words), (passage,))


def plain_sight(text: str) -> str:
    """Return text in which nothing is hidden: invisible characters and those that reverse text become escapes."""
    return "".join(
        one if one.isprintable() or one == "\n" else one.encode("unicode_escape").decode("ascii") for one in text
    )


def code_block(text: str) -> str:
    """Return text as a code block that the text itself can't end."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"
