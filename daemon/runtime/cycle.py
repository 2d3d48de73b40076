"""One cycle: perceptions enter, mental processes think and speak, and one commit ends it."""

import asyncio
import unicodedata

from daemon.core.errors import MalformedReply
from daemon.core.perception import Modality
from daemon.core.ports import DraftLog, Speech
from daemon.memory.records import Delivery
from daemon.mind.motor import Motor
from daemon.mind.recall.looked_up import with_sources
from daemon.mind.state_machine import ProcessRun, run_processes
from daemon.runtime.cycle_services import MONOLOGUE
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import Thinking, effect_of_cycle, newer_than
from daemon.runtime.recalling import process_context
from daemon.soul_engine import turns_read


async def run_cycle(cycle: Cycle) -> Delivery | None:
    """Recall, think, speak, commit; returns the first post, claimed for sending.

    Raises ModelError when the mind fails, LostLease, Superseded or ReadersChanged when the commit is refused; nothing
    is stored then.
    """
    services = cycle.services
    soul = services.soul()
    transcript = await services.turns.transcript(cycle.claim.conversation, turns_read(soul.budgets))
    speech = _speech(cycle)
    motor = Motor(speech, cycle.words)
    context = await process_context(cycle, soul, transcript, motor)
    services.emit("memory.integrated", trace=cycle.trace_id, memory=context.memory)
    try:
        run = await run_processes(context, cycle.claim.state, services.processes)
    finally:
        if speech is not None:
            await speech.settle()
    motor.rewrite(lambda reply: with_sources(reply, cycle.found))
    parts = await asyncio.to_thread(services.channel.split, motor.reply, cycle.claim.conversation, cycle.hosts)
    if not (parts and _is_visible(motor.reply)) and (motor.reply or cycle.newest.modality is not Modality.TIME):
        raise MalformedReply("nothing in the reply can be seen", reply=motor.reply)
    await cycle.require_same_readers()
    thinking = Thinking(soul, motor, run, transcript, context.visit)
    delivery = await services.commits.commit(effect_of_cycle(cycle, thinking, parts))
    services.emit(
        "cycle.committed",
        conversation=str(cycle.claim.conversation),
        trace=cycle.trace_id,
        parts=len(parts),
        process=run.state.process,
    )
    _log_run(cycle, run, motor)
    return delivery


def _log_run(cycle: Cycle, run: ProcessRun, motor: Motor) -> None:
    """Log the path through the processes and, at debug, its reasons, the thought and the memory left (seed 000)."""
    where, emit = {"conversation": str(cycle.claim.conversation), "trace": cycle.trace_id}, cycle.services.emit
    for step in run.path:
        if step.act not in ("stay", "return"):  # the visit before the return is logged
            how = {"act": step.act, "origin": step.origin, "target": step.target, "decided_by": step.decided_by}
            emit("process.moved", **where, **how, because=step.reason)
    if (thought := motor.annotations.get("monologue")) and all(one.step != MONOLOGUE for one in cycle.calls):
        emit("monologue.thought", trace=cycle.trace_id, monologue=thought)
    emit("memory.left", trace=cycle.trace_id, memory=run.memory)


def _is_visible(reply: str) -> bool:
    """Whether a reply holds more than spaces, line breaks and characters without a shape."""
    return any(unicodedata.category(character)[0] not in "CZ" for character in reply)


def _speech(cycle: Cycle) -> Speech | None:
    """A new draft of the reply; None where an earlier attempt left one open, which the courier finishes instead."""
    if cycle.claim.draft is not None:
        return None
    conversations, newest = cycle.services.conversations, cycle.newest

    async def opening() -> None:
        await conversations.begin_draft(
            cycle.claim,
            reply_to=cycle.services.channel.reply_to(newest),
            recipient=newest.author,
            newer_than_ts=newer_than(cycle.perceptions[0]),
        )

    async def opened(ts: str) -> None:
        await conversations.draft_opened(cycle.claim, ts)

    async def refused() -> None:
        await conversations.draft_refused(cycle.claim)

    return cycle.services.channel.speak(newest, DraftLog(opening, opened, refused), cycle.hosts)
