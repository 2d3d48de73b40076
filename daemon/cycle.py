"""One cycle: perceptions enter, the current mental process thinks and speaks, and everything ends in one commit."""

import secrets
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from daemon.cognition import Mind
from daemon.errors import MalformedReply, NotDelivered
from daemon.memory.commits import Commits
from daemon.memory.conversations import Conversations
from daemon.memory.records import Claim, CycleEffect, Delivery, Heard, Speaks, Turn
from daemon.memory.turns import Transcript, Turns
from daemon.mental_process import MentalProcess, ProcessContext
from daemon.motor import Motor
from daemon.perception import Perception
from daemon.ports import LLM, Channel, Clock, Completion, DraftLog, Emit, LLMCall, Overheard, Speech
from daemon.recall import OVERHEARD_READ, TURNS_READ, as_memory, recall
from daemon.soul import Soul
from daemon.soul_engine import build_prompt, fresh_nonce, integrate, transcript_window

SUMMARIZE = "summarizes_the_conversation"


@dataclass(frozen=True, slots=True)
class House:
    """What a cycle works with; made once by the composition root."""

    llm: LLM
    channel: Channel
    clock: Clock
    emit: Emit
    soul: Callable[[], Soul]
    processes: Mapping[str, MentalProcess]
    cost: Callable[[Completion], float | None]
    conversations: Conversations
    commits: Commits
    turns: Turns


@dataclass(frozen=True, slots=True)
class Cycle:
    """One claimed conversation with its admitted perceptions, oldest first; `ignored` rows end without a reply.

    `calls` gathers the model calls made for it, so that they are accounted for however it ends.
    """

    house: House
    claim: Claim
    perceptions: tuple[Perception, ...]
    answered: tuple[Heard, ...]
    ignored: Mapping[str, str]
    trace_id: str
    calls: list[LLMCall] = field(default_factory=list)

    @property
    def newest(self) -> Perception:
        """The perception that the reply is addressed to."""
        return self.perceptions[-1]


def new_trace() -> str:
    """A short id that ties a cycle's rows, log lines and apologies together."""
    return secrets.token_hex(6)


async def run_cycle(cycle: Cycle) -> Delivery | None:
    """Perceive, recall, think, speak, commit; returns the first post, claimed for sending.

    Raises ModelError when the mind fails, LostLease or Superseded when the commit is refused; nothing is stored then.
    """
    house = cycle.house
    soul = house.soul()
    transcript = await house.turns.transcript(cycle.claim.conversation, TURNS_READ)
    around = (*await _overheard(cycle, transcript), *await _aside(cycle, transcript))
    memory = recall(soul, cycle.newest, transcript, around, house.clock.now_ms())
    for perception in cycle.perceptions:
        memory = integrate(memory, perception)
    house.emit("memory.integrated", trace=cycle.trace_id, memory=memory)
    speech = _speech(cycle)
    motor = Motor(speech)
    mind = Mind(
        llm=house.llm,
        render=lambda known, step: build_prompt(known, step, budgets=soul.budgets, nonce=fresh_nonce()),
        clock=house.clock,
        record=lambda call: _record(cycle, call),
        cost=house.cost,
        trace_id=cycle.trace_id,
    )
    process = house.processes[cycle.claim.process]
    try:
        await process(ProcessContext(memory, cycle.newest, mind, motor, soul))
    finally:
        if speech is not None:
            await speech.settle()
    parts = house.channel.split(motor.reply)
    if motor.reply and not (parts and _can_be_seen(motor.reply)):
        raise MalformedReply("nothing in the reply can be seen", reply=motor.reply)
    effect = _effect(cycle, soul, motor, parts, transcript)
    delivery = await house.commits.commit(effect)
    house.emit("cycle.committed", conversation=str(cycle.claim.conversation), trace=cycle.trace_id, parts=len(parts))
    return delivery


def _can_be_seen(reply: str) -> bool:
    """Whether there is more to a reply than spaces, line breaks and characters without a shape."""
    return any(unicodedata.category(character)[0] not in "CZ" for character in reply)


def _record(cycle: Cycle, call: LLMCall) -> None:
    cycle.calls.append(call)
    tell_of(call, cycle.house.emit)


def tell_of(call: LLMCall, emit: Emit) -> None:
    """Tell that a step's model call has ended; the log decides how much of the words may be seen (seed 000)."""
    emit(
        "step.completed",
        step=call.step,
        role=call.role,
        outcome=call.outcome,
        provider=call.model.partition("/")[0],
        model=call.model,
        tokens_in=call.tokens_in,
        tokens_cached=call.tokens_cached,
        tokens_out=call.tokens_out,
        cost_usd=call.cost_usd,
        duration_ms=call.latency_ms,
        trace=call.trace_id,
        repair=call.repair,
        prompt=call.prompt,
        response=call.response,
    )


async def _overheard(cycle: Cycle, transcript: Transcript) -> tuple[Overheard, ...]:
    """The thread before the soul was asked in, as the platform tells it today; the transcript tells the rest.

    It is read again for each reply, so that what was deleted meanwhile is forgotten and the rest is not.
    """
    first = transcript.turns[0].ts if transcript.turns else cycle.perceptions[0].ts
    return await cycle.house.channel.overheard(replace(cycle.perceptions[0], ts=first), OVERHEARD_READ)


async def _aside(cycle: Cycle, transcript: Transcript) -> tuple[Overheard, ...]:
    """What people said past the soul since it last answered, of those who may be heard (P42)."""
    heard = []
    for one in transcript.aside:
        try:
            admission = await cycle.house.channel.admit(one.perception())
        except NotDelivered as error:
            cycle.house.emit("cycle.aside_unknown", id=one.id, reason=error.message)
            continue
        if admission.admitted:
            heard.append(Overheard(one.ts, one.actor, admission.name, one.body))
    return tuple(heard)


def _speech(cycle: Cycle) -> Speech | None:
    """A draft that an earlier attempt left open is finished in the end; a second one would double the reply."""
    if cycle.claim.draft is not None:
        return None
    conversations, claim, newest = cycle.house.conversations, cycle.claim, cycle.newest

    async def opening() -> None:
        await conversations.begin_draft(
            claim,
            reply_to=cycle.house.channel.reply_to(newest),
            recipient=newest.source,
            posted_after=cycle.perceptions[0].ts,
        )

    async def opened(ts: str) -> None:
        await conversations.draft_opened(claim, ts)

    async def refused() -> None:
        await conversations.draft_refused(claim)

    return cycle.house.channel.speak(newest, DraftLog(opening, opened, refused))


def _effect(cycle: Cycle, soul: Soul, motor: Motor, parts: tuple[str, ...], transcript: Transcript) -> CycleEffect:
    heard = tuple(
        Turn(Speaks.PERSON, perception.source, perception.name, perception.ts, perception.content)
        for perception in cycle.perceptions
    )
    said = Turn(Speaks.SOUL, soul.name, soul.display_name, cycle.newest.ts, motor.reply, motor.reflections)
    turns = (*heard, said) if parts else heard
    return CycleEffect(
        claim=cycle.claim,
        trace_id=cycle.trace_id,
        process=cycle.claim.process,
        turns=turns,
        parts=parts,
        reply_to=cycle.house.channel.reply_to(cycle.newest),
        recipient=cycle.newest.source,
        posted_after=cycle.perceptions[0].ts,
        answered=cycle.answered,
        ignored=cycle.ignored,
        jobs=(SUMMARIZE,) if _outgrown((*transcript.turns, *turns), soul) else (),
        calls=tuple(cycle.calls),
    )


def _outgrown(turns: tuple[Turn, ...], soul: Soul) -> bool:
    """Whether turns no longer fit their budget and the older ones should live on as a summary."""
    older, _ = transcript_window([as_memory(turn) for turn in turns], soul.budgets.transcript, soul.budgets.turn)
    return bool(older)
