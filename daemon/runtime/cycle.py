"""One cycle: perceptions enter, mental processes think and speak, and everything ends in one commit."""

import secrets
import unicodedata
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from daemon.core.errors import MalformedReply, NotDelivered, StoreError
from daemon.core.fencing import fresh_nonce
from daemon.core.limits import Limits
from daemon.core.perception import AudienceKind, ConversationKey, Modality, Perception
from daemon.core.ports import LLM, Channel, Clock, Completion, DraftLog, Emit, LLMCall, Overheard, Passage, Speech
from daemon.core.working_memory import WorkingMemory
from daemon.memory.knowledge.soul_states import SoulState, SoulStates
from daemon.memory.knowledge.turns import Transcript, Turns
from daemon.memory.knowledge.user_models import UserModel, UserModels
from daemon.memory.queues.commits import Commits
from daemon.memory.queues.conversations import Conversations
from daemon.memory.records import Claim, Delivery, Heard
from daemon.mind.attention import Attention
from daemon.mind.cognition import Mind
from daemon.mind.mental_process import Means, MentalProcess, ProcessContext
from daemon.mind.motor import Motor
from daemon.mind.recall import OVERHEARD_READ, TURNS_READ, Known, recall
from daemon.mind.recall.visit import visit_of
from daemon.mind.state_machine import Course, run_processes
from daemon.runtime.admission import Admission
from daemon.runtime.effects import Aftermath, Habits, effect_of, posted_after
from daemon.soul import Soul
from daemon.soul_engine import build_prompt, integrate

MONOLOGUE = "internal_monologue"
"""The step whose answer is a private thought as it stands; in other answers a thought is a part."""

_ELSEWHERE_S = 2.0  # how often memory.db is asked what other daemons have heard
_KNOWN_PEOPLE = 3  # of those who spoke since the last reply, whom the soul has in mind while it answers


@dataclass(frozen=True, slots=True)
class House:
    """What a cycle works with; made once for each soul by the composition root.

    `means` lacks what only a cycle knows; `limits` says what a soul's autonomous loop may take, None where it may not.
    `recollect` searches what may be remembered where a cycle's reply is heard.
    """

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
    user_models: UserModels
    soul_states: SoulStates
    admission: Admission
    habits: Habits
    means: Means
    limits: Callable[[Soul], Limits | None]
    recollect: Callable[["Cycle", str, int], Awaitable[tuple[Passage, ...]]]

    def mind(self, soul: Soul, record: Callable[[LLMCall], None], trace_id: str) -> Mind:
        """A mind for one piece of work: prompts within the soul's budgets, each call told and recorded."""

        def told(call: LLMCall) -> None:
            record(call)
            tell_of(call, self.emit)

        return Mind(
            llm=self.llm,
            render=lambda known, step: build_prompt(known, step, budgets=soul.budgets, nonce=fresh_nonce()),
            clock=self.clock,
            record=told,
            cost=self.cost,
            trace_id=trace_id,
        )


@dataclass(slots=True)
class Cycle:
    """One claimed conversation with its admitted perceptions, oldest first; `ignored` rows end without a reply.

    Words that come in meanwhile may be taken in: then the claim, the perceptions and what is answered grow. `calls`
    gathers the model calls made for it, so that they are accounted for however it ends.
    """

    house: House
    claim: Claim
    perceptions: tuple[Perception, ...]
    answered: tuple[Heard, ...]
    ignored: Mapping[str, str]
    trace_id: str
    attention: Attention = field(default_factory=Attention)
    calls: list[LLMCall] = field(default_factory=list)

    @property
    def newest(self) -> Perception:
        """The perception that the reply is addressed to."""
        return self.perceptions[-1]

    @property
    def outsiders(self) -> bool:
        """Whether the reply is heard by somebody who may not know what the whole workspace may know."""
        return any(perception.outsider for perception in self.perceptions)

    def usage(self) -> tuple[int, float]:
        """Tokens and US dollars spent so far; calls of unknown price cost nothing."""
        return sum(one.tokens_in + one.tokens_out for one in self.calls), sum(one.cost_usd or 0 for one in self.calls)

    async def take_in(self, memory: WorkingMemory) -> WorkingMemory:
        """Answer also what was said in the conversation meanwhile, as far as the gate lets it in. Raises LostLease."""
        self.attention.clear()
        known = {one.id for one in self.claim.heard}
        self.claim = await self.house.conversations.take_in(self.claim)
        try:
            fresh = await self.house.admission.sort([one for one in self.claim.heard if one.id not in known])
        except NotDelivered as error:  # who that is can't be told now; it is answered by a cycle of its own
            self.house.emit("gate.failed", conversation=str(self.claim.conversation), reason=error.message)
            return memory
        self.perceptions += fresh.perceptions
        self.answered += fresh.answered
        self.ignored = {**self.ignored, **fresh.ignored}
        for perception in fresh.perceptions:
            memory = integrate(memory, perception)
        return memory


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
    speech = _speech(cycle)
    motor = Motor(speech)
    context = await _context(cycle, soul, transcript, motor)
    house.emit("memory.integrated", trace=cycle.trace_id, memory=context.memory)
    try:
        course = await run_processes(context, cycle.claim.state, house.processes)
    finally:
        if speech is not None:
            await speech.settle()
    parts = house.channel.split(motor.reply)
    if not (parts and _can_be_seen(motor.reply)) and (motor.reply or cycle.newest.modality is not Modality.TIME):
        raise MalformedReply("nothing in the reply can be seen", reply=motor.reply)
    aftermath = Aftermath(soul, motor, course, parts, transcript, context.visit, house.habits, house.clock.now_ms())
    delivery = await house.commits.commit(
        effect_of(
            aftermath,
            claim=cycle.claim,
            trace_id=cycle.trace_id,
            perceptions=cycle.perceptions,
            reply_to=house.channel.reply_to(cycle.newest),
            answered=cycle.answered,
            ignored=cycle.ignored,
            calls=tuple(cycle.calls),
        )
    )
    house.emit(
        "cycle.committed",
        conversation=str(cycle.claim.conversation),
        trace=cycle.trace_id,
        parts=len(parts),
        process=course.state.process,
    )
    _tell_what_happened(cycle, course, motor)
    return delivery


def _tell_what_happened(cycle: Cycle, course: Course, motor: Motor) -> None:
    """Tell where the processes led, and at debug why, what was thought and what is left in mind (seed 000)."""
    told, emit = {"conversation": str(cycle.claim.conversation), "trace": cycle.trace_id}, cycle.house.emit
    for step in course.path:
        if step.act not in ("stay", "return"):  # the visit before it was told
            how = {"act": step.act, "origin": step.origin, "target": step.target, "decided_by": step.decided_by}
            emit("process.moved", **told, **how, because=step.reason)
    if (thought := motor.reflections.get("monologue")) and all(one.step != MONOLOGUE for one in cycle.calls):
        emit("monologue.thought", trace=cycle.trace_id, monologue=thought)
    emit("memory.left", trace=cycle.trace_id, memory=course.memory)


async def _context(cycle: Cycle, soul: Soul, transcript: Transcript, motor: Motor) -> ProcessContext:
    """Everything recalled, and the perceptions integrated into it (design, section 3)."""
    house, claim = cycle.house, cycle.claim
    around = (*await _overheard(cycle, transcript), *await _aside(cycle, transcript))
    known = Known(await _people(cycle), await _own_state(cycle, soul))
    now = house.clock.now_ms()
    memory = recall(soul, cycle.newest, transcript, around, known=known, now_ms=now)
    for perception in cycle.perceptions:
        memory = integrate(memory, perception)
    return ProcessContext(
        memory=memory,
        perception=cycle.newest,
        mind=house.mind(soul, cycle.calls.append, cycle.trace_id),
        motor=motor,
        soul=soul,
        attention=cycle.attention,
        visit=visit_of(claim.spell, known.of(cycle.newest.source), transcript, now, house.habits.silence_ms),
        means=replace(
            house.means,
            limits=house.limits(soul),
            take_in=cycle.take_in,
            usage=cycle.usage,
            recollect=partial(house.recollect, cycle),
            emit=house.emit,
        ),
    )


async def _people(cycle: Cycle) -> dict[str, tuple[UserModel, ...]]:
    """What may be known here of those who spoke last, by person, the newest first."""
    people = dict.fromkeys(perception.source for perception in reversed(cycle.perceptions))
    claim, models = cycle.claim, cycle.house.user_models
    soul, workspace = claim.conversation.soul, claim.conversation.workspace
    return {
        person: await models.known(soul, workspace, person, claim.audience, outsiders=cycle.outsiders)
        for person in list(people)[:_KNOWN_PEOPLE]
    }


async def _own_state(cycle: Cycle, soul: Soul) -> SoulState | None:
    """How the soul is here; what it is about before the whole workspace is not for outsiders."""
    claim = cycle.claim
    if cycle.outsiders and claim.audience.kind is AudienceKind.WORKSPACE:
        return None
    return await cycle.house.soul_states.known(soul.name, claim.conversation.workspace, claim.audience)


def _can_be_seen(reply: str) -> bool:
    """Whether there is more to a reply than spaces, line breaks and characters without a shape."""
    return any(unicodedata.category(character)[0] not in "CZ" for character in reply)


def tell_of(call: LLMCall, emit: Emit) -> None:
    """Tell that a step's model call has ended; the log decides how much of the words may be seen (seed 000)."""
    if call.step == MONOLOGUE:
        emit("monologue.thought", trace=call.trace_id, monologue=call.response)
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
            posted_after=posted_after(cycle.perceptions[0]),
        )

    async def opened(ts: str) -> None:
        await conversations.draft_opened(claim, ts)

    async def refused() -> None:
        await conversations.draft_refused(claim)

    return cycle.house.channel.speak(newest, DraftLog(opening, opened, refused))


async def call_when_heard_elsewhere(attention: Attention, conversation: ConversationKey, house: House) -> None:
    """Notice, until cancelled, what another daemon on the same memory.db has heard for a conversation."""
    while True:
        await house.clock.sleep(_ELSEWHERE_S)
        try:
            if await house.conversations.anything_new(conversation):
                attention.call()
        except StoreError as error:
            house.emit("store.failed", reason=error.message, hint=error.hint)
