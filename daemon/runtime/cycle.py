"""One cycle: perceptions enter, mental processes think and speak, and one commit ends it."""

import asyncio
import unicodedata

from daemon.core.errors import MalformedReply
from daemon.core.perception import Modality, Place
from daemon.core.ports.library import ReplyFile
from daemon.core.ports.services import DraftLog, Speech
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.records import Delivery
from daemon.mind.motor import Motor, Silence
from daemon.mind.pipelines import ProcessRun, run_processes
from daemon.mind.recall.looked_up import with_sources
from daemon.mind.recall.mood import with_unread_links
from daemon.mind.thought_input import with_refusals
from daemon.processes import PROCESSES
from daemon.runtime.cycle_services import MONOLOGUE
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import ShownSpeech, Thinking, effect_of_cycle, newer_than, shown_solving
from daemon.runtime.people.answers import commit_answer
from daemon.runtime.people.obeying import obey, phrase_of
from daemon.runtime.people.reminders import bring_up_apart
from daemon.runtime.people.sessions import say_to_session
from daemon.runtime.recalling import process_context
from daemon.runtime.sensing import tell_others, with_notes_heard
from daemon.runtime.unasked import ask_for_invitation, tell_of_promises
from daemon.soul_engine import turns_read

_MAY_BE_SILENT = frozenset({Modality.TIME, Modality.EVENT, Modality.SENSE})
"""The perceptions that no user expects an answer to."""


async def run_cycle(cycle: Cycle) -> Delivery | None:
    """Recall, think, speak and commit. Return the first post, claimed for sending.

    Raises ModelError when the mind fails, and LostLease, Superseded or ReadersChanged when the commit is refused.
    Nothing is stored then.
    """
    services = cycle.services
    if (answer := await bring_up_apart(cycle)) is not None:
        return await commit_answer(cycle, answer)
    if (phrase := await phrase_of(cycle)) is not None:
        return await obey(cycle, phrase)
    if cycle.for_session is not None:
        return await commit_answer(cycle, await say_to_session(cycle, cycle.for_session))
    soul = cycle.soul
    cycle.paused = await services.store.standing.paused([one.author for one in cycle.perceptions])
    transcript = await services.store.turns.transcript(cycle.claim.conversation, turns_read(soul.budgets))
    transcript = await with_notes_heard(cycle, transcript)
    speech = cycle.speech = _speech(cycle)
    motor = Motor(speech, cycle.words, calls=cycle.calls)
    try:
        context = await process_context(cycle, soul, transcript, motor)
        services.emit("memory.integrated", trace=cycle.trace_id, memory=context.memory)
        run = await run_processes(context, cycle.claim.state, shown_solving(PROCESSES, cycle.does))
    finally:
        if speech is not None:
            await speech.settle()
    await _tell_of_memory(cycle, motor)
    tell_of_promises(cycle, motor)
    await ask_for_invitation(cycle, context, motor)
    await services.names.learn((motor.reply,))
    motor.rewrite(services.names.in_reply)
    motor.rewrite(lambda reply: with_sources(reply, cycle.found, motor.words))
    motor.rewrite(lambda reply: with_refusals(reply, cycle.files, motor.words))
    motor.rewrite(lambda reply: with_unread_links(reply, cycle.linked, motor.words))
    parts, files = await _in_parts(cycle, motor)
    _require_visible(cycle, motor, parts)
    await cycle.require_same_readers()
    thinking = Thinking(soul, motor, run, transcript, context.visit)
    effect = effect_of_cycle(cycle, thinking, parts, files)
    delivery = await services.store.commits.commit(effect)
    _tell_of_silence(cycle, effect)
    _tell_of_thoughts(cycle, effect)
    tell_others(cycle, effect, changed=motor.shared)
    services.emit(
        "cycle.committed",
        conversation=str(cycle.claim.conversation),
        trace=cycle.trace_id,
        parts=len(parts),
        process=run.state.process,
    )
    _log_run(cycle, run, motor)
    return delivery


async def _in_parts(cycle: Cycle, motor: Motor) -> tuple[tuple[str, ...], tuple[ReplyFile, ...]]:
    channel, where = cycle.channel, cycle.claim.conversation
    whole = (motor.reply, ())
    words, files = whole if motor.cut else channel.attach(motor.reply, cycle.claim.key(0), where, motor.words)
    return await asyncio.to_thread(channel.split, words, where, cycle.hosts), files


async def _tell_of_memory(cycle: Cycle, motor: Motor) -> None:
    """Say below a person's first reply in a DM that the soul remembers, and how to stop it."""
    newest, services = cycle.newest, cycle.services
    in_person = newest.place is Place.DM and newest.modality is Modality.WORDS
    if not (services.settings.tell_of_memory and in_person and motor.reply):
        return
    cycle.tells = not await services.store.standing.was_informed(newest.author)
    if cycle.tells:
        motor.show_below(f"_{cycle.words.say('own_notice')}_")


def _log_run(cycle: Cycle, run: ProcessRun, motor: Motor) -> None:
    where, emit = {"conversation": str(cycle.claim.conversation), "trace": cycle.trace_id}, cycle.services.emit
    for step in run.path:
        if step.act not in ("stay", "return"):  # the visit before the return is logged
            how = {"act": step.act, "origin": step.origin, "target": step.target, "decided_by": step.decided_by}
            emit("process.moved", **where, **how, because=step.reason)
    if (thought := motor.annotations.get("monologue")) and all(one.step != MONOLOGUE for one in cycle.calls):
        emit("monologue.thought", trace=cycle.trace_id, monologue=thought)
    emit("memory.left", trace=cycle.trace_id, memory=run.memory)


def _tell_of_silence(cycle: Cycle, effect: CycleEffect) -> None:
    if effect.silent and effect.nod is None:
        cycle.show_status("")
        name = "cycle.silent_unasked" if cycle.is_tick else "cycle.silent"
        cycle.services.emit(name, conversation=str(cycle.claim.conversation), trace=cycle.trace_id)


def _tell_of_thoughts(cycle: Cycle, effect: CycleEffect) -> None:
    for one in effect.thoughts.thoughts if effect.thoughts is not None else ():
        how = {"occasion": one.occasion, "degraded": one.degraded, "spoke": one.spoke}
        cycle.services.emit("thought.kept", trace=cycle.trace_id, **how)


def _require_visible(cycle: Cycle, motor: Motor, parts: tuple[str, ...]) -> None:
    """Raise MalformedReply where people who wait for words would see nothing."""
    may_be_silent = motor.silence is not Silence.REFUSED or cycle.newest.modality in _MAY_BE_SILENT
    if not (parts and _is_visible(motor.reply)) and (motor.reply or not may_be_silent):
        raise MalformedReply("nothing in the reply can be seen", reply=motor.reply)


def _is_visible(reply: str) -> bool:
    return any(unicodedata.category(character)[0] not in "CZ" for character in reply)


def _speech(cycle: Cycle) -> Speech | None:
    """Begin a draft of the reply. Return None where one is open already, which the courier finishes."""
    if cycle.claim.draft is not None:
        return None
    conversations, newest = cycle.services.store.conversations, cycle.newest

    async def opening() -> None:
        await conversations.begin_draft(
            cycle.claim,
            reply_to=cycle.channel.reply_to(newest),
            recipient=newest.author,
            newer_than_ts=newer_than(cycle.perceptions[0]),
        )

    async def opened(ts: str) -> None:
        await conversations.draft_opened(cycle.claim, ts)

    async def refused() -> None:
        await conversations.draft_refused(cycle.claim)

    log, grows = DraftLog(opening, opened, refused), cycle.claim.way.shows_growing
    speech = cycle.channel.speak(newest, log, cycle.hosts, grows=grows)
    return ShownSpeech(speech, cycle.does)
