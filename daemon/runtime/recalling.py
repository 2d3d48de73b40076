"""Recall and integrate: reads what the soul may know and builds the context of its mental processes."""

from dataclasses import replace

from daemon.core.errors import NotDelivered
from daemon.core.perception import Modality
from daemon.core.ports import Passage, ThreadMessage
from daemon.memory.knowledge.soul_states import SoulState
from daemon.memory.knowledge.turns import Transcript
from daemon.memory.knowledge.user_models import UserModel
from daemon.memory.records import Speaks
from daemon.mind.mental_process import CurrentCycle, ProcessContext
from daemon.mind.motor import Motor
from daemon.mind.recall import THREAD_MESSAGES_READ, RecalledFacts, recall
from daemon.mind.recall.mood import status_of
from daemon.mind.recall.visit import visit_of
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.looking_up import look_up
from daemon.soul import Soul
from daemon.soul_engine import integrate

_KNOWN_PEOPLE = 3  # of the users who wrote since the last reply, how many the soul has in mind while it answers


async def process_context(cycle: Cycle, soul: Soul, transcript: Transcript, motor: Motor) -> ProcessContext:
    """Working memory with everything recalled and every perception integrated. Raises StoreError."""
    services = cycle.services
    thread, aside = await _thread_before(cycle, transcript), await _aside(cycle, transcript)
    await cycle.find_readers()  # again, since whoever wrote in the thread before is among them
    claim, readers = cycle.claim, cycle.readers
    known = RecalledFacts(readers, await _people(cycle), await _own_state(cycle), thread, aside)
    now = services.clock.now_ms()
    said = [turn.body for turn in transcript.turns if turn.speaker is Speaks.PERSON]
    said += [one.text for one in (*thread, *aside) if not one.own]
    said += [one.content for one in cycle.perceptions if one.modality is Modality.WORDS]  # events hold the soul's own
    cycle.hosts.learn(soul.personality, *said)
    own = [turn.body for turn in transcript.turns if turn.speaker is Speaks.SOUL]
    cycle.nonce = cycle.nonce.kept_or_drawn(now, (*said, *own, *(one.name for one in cycle.perceptions)))
    language, turn = cycle.newest.language, claim.version
    cycle.show_status(status_of(known.own_state, now, soul, language=language, turn=turn))
    await _find_zone(cycle)
    memory = recall(soul, cycle.newest, transcript, known=known, now_ms=now)
    memory = await look_up(cycle, soul, transcript, (*thread, *aside), memory)
    for perception in cycle.perceptions:
        memory = integrate(memory, perception)

    async def recollect(query: str, limit: int) -> tuple[Passage, ...]:
        return await services.recollect(claim.conversation, readers, query, limit)

    return ProcessContext(
        memory=memory,
        perception=cycle.newest,
        mind=await services.mind(soul, cycle.calls.append, cycle.trace_id, readers.audience, cycle.nonce.code),
        motor=motor,
        soul=soul,
        interrupt=cycle.interrupt,
        visit=visit_of(
            claim.visit_state, known.of(cycle.newest.author), transcript, now, services.timing.visit_timeout_ms
        ),
        own_state=known.own_state,
        capabilities=services.capabilities.before(readers),
        cycle=CurrentCycle(
            limits=services.limits(soul),
            usage=cycle.usage,
            absorb_new_messages=cycle.absorb_new_messages,
            recollect=recollect,
            cite=cycle.hosts.learn,
            readers=readers,
            emit=services.emit,
            wishes=services.wishes,
        ),
    )


async def _people(cycle: Cycle) -> dict[str, tuple[UserModel, ...]]:
    """What may be known here of the users who wrote last, by user, the newest first."""
    people = dict.fromkeys(one.author for one in reversed(cycle.perceptions))
    models, claim = cycle.services.user_models, cycle.claim
    may_know = cycle.readers.may_know(claim.conversation.workspace)
    return {person: await models.known(person, may_know) for person in list(people)[:_KNOWN_PEOPLE]}


async def _own_state(cycle: Cycle) -> SoulState | None:
    """The soul's mood, topic and task here; what concerns the whole workspace is for its members alone."""
    audience = cycle.readers.audience
    if audience not in cycle.readers.may_know(cycle.claim.conversation.workspace):
        return None
    return await cycle.services.soul_states.known(audience, cycle.claim.conversation)


async def _find_zone(cycle: Cycle) -> None:
    """Give the newest message the zone that its author was last known to live in, where the platform says none."""
    if not cycle.messages or cycle.newest.zone:
        return
    zone = await cycle.services.zones.zone_of(cycle.newest.author)
    newest = cycle.messages[-1]
    cycle.messages = (*cycle.messages[:-1], replace(newest, perception=replace(newest.perception, zone=zone)))


async def _thread_before(cycle: Cycle, transcript: Transcript) -> tuple[ThreadMessage, ...]:
    """The thread before the soul was asked in, as the platform shows it today; the transcript holds the rest.

    Each reply reads it again, so that a message deleted meanwhile is forgotten.
    """
    first = transcript.turns[0].ts if transcript.turns else cycle.perceptions[0].ts
    return await cycle.services.channel.thread_before(replace(cycle.perceptions[0], ts=first), THREAD_MESSAGES_READ)


async def _aside(cycle: Cycle, transcript: Transcript) -> tuple[ThreadMessage, ...]:
    """What admitted users said to each other since the soul last answered (P42)."""
    aside = []
    for one in (message.perception for message in transcript.aside):
        try:
            decision = await cycle.services.channel.admit(one)
        except NotDelivered as error:
            cycle.services.emit("cycle.aside_unknown", id=one.id, reason=error.message)
            continue
        cycle.outsider_spoke = cycle.outsider_spoke or decision.outsider
        if decision.admitted:
            aside.append(ThreadMessage(one.ts, one.author, decision.name, one.content))
    return tuple(aside)
