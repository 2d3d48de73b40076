"""The action Escalate: hand the problem to the expert process or, with permission, to a contact who can act."""

import re
from collections.abc import Sequence

from daemon.core.telemetry.redaction import remove_keys
from daemon.ism.machine import Action, ActionUse, Recurse
from daemon.ism.permission import POST_ELSEWHERE, PermissionRequest, ask_permission, plain_sight
from daemon.ism.problem import Problem
from daemon.mind.extended_steps import with_soul_creativity
from daemon.mind.process import ProcessContext, Stay, Transition
from daemon.mind.steps.instruction import instruction
from daemon.mind.transitions import HANDED_OVER, situation_of, why_refused
from daemon.soul import Contact

_EXPERT = "expert"
_SUMMARY = (
    "Write to {name}, who hasn't read this conversation, what is needed from them: who asks, the problem, what was "
    "found and tried, and what they are to decide or do. At most 120 words, plain, with nothing said in confidence."
)


def escalate(context: ProcessContext, problem: Problem) -> Action | None:
    """Build the action, or return None without anyone to escalate to.

    Its input names a contact or the expert process.
    """
    soul = context.soul
    expert = _expert(context)
    known = [f"{one.name} ({one.can})" for one in soul.contacts] + ([_EXPERT] if expert else [])
    called = "; ".join(known)
    if not known:
        return None

    async def handle(use: ActionUse) -> Recurse | Stay | Transition:
        if contact := _named(use.input, soul.contacts):
            return await _to_contact(context, problem, use, contact)
        if expert and _names(use.input, _EXPERT):
            params = {HANDED_OVER: context.perception.id}
            reason = "the problem needs the expert"
            return Transition(use.memory, expert, reason, params, execute_now=True, decided_by="model")
        return use.recurse(observation=f"It can't be handed on to them, but to these: {called}.")

    return Action(
        "Escalate", f"hand the problem to one who can do what you can't; input: who of these: {called}", handle
    )


def _expert(context: ProcessContext) -> str:
    expert = context.soul.ism.expert
    refused = expert == context.state.process or why_refused(context.state.process, expert, situation_of(context))
    return "" if refused else expert


def _named(words: str, contacts: Sequence[Contact]) -> Contact | None:
    found = [one for one in contacts if _names(words, one.name)]
    return max(found, key=lambda one: len(one.name), default=None)


def _names(words: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words, re.IGNORECASE) is not None


async def _to_contact(context: ProcessContext, problem: Problem, use: ActionUse, contact: Contact) -> Stay | Recurse:
    """Ask the user who has the problem to approve the exact message: it discloses what was said here."""
    if not problem.asker:
        return use.recurse(observation="It isn't known whose problem this is, so that nobody can allow it.")
    soul = context.soul
    step = instruction(_SUMMARY.format(name=contact.name), name=soul.display_name)
    _, summary = await context.mind.run(use.memory, with_soul_creativity(soul, step))
    summary = plain_sight(remove_keys(summary.strip()))
    request = PermissionRequest(
        tool=POST_ELSEWHERE,
        arguments={"to": contact.slack, "name": contact.name, "summary": summary},
        approvers=(problem.asker,),
        question=context.motor.words.say("ask_contact", name=contact.name),
        shown=summary,
    )
    return await ask_permission(context, problem, use.memory, request)
