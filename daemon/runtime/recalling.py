"""Recall and integrate: reads what the soul may know and builds the context of its mental processes."""

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from daemon.core.concurrency import at_once
from daemon.core.errors import NotDelivered
from daemon.core.expectations import Limits
from daemon.core.lineage import author_id, way_id
from daemon.core.perception import Modality
from daemon.core.ports.channel import LinkedMessages, ThreadMessage
from daemon.core.ports.library import Passage
from daemon.core.sentences import Sentence
from daemon.core.sessions import CodeSession
from daemon.core.working_memory import WorkingMemory
from daemon.memory.expectations.settling import events_of
from daemon.memory.knowledge.records.kinds import NOTHING_LEFT, JournalEntry, WorkflowState
from daemon.memory.knowledge.soul_states import SoulState
from daemon.memory.knowledge.turns import Transcript
from daemon.memory.knowledge.user_models import UserModel
from daemon.memory.records import Speaks
from daemon.memory.stream.reading import NO_THOUGHTS, LastThoughts
from daemon.mind.motor import Motor, promised_by_now
from daemon.mind.process import CurrentCycle, ProcessContext
from daemon.mind.recall import THREAD_MESSAGES_READ, RecalledFacts, recall, with_sessions
from daemon.mind.recall.looked_up import source_id
from daemon.mind.recall.mood import status_of, with_linked, with_shared
from daemon.mind.recall.visit import Visit, visit_of
from daemon.mind.reply_rules import is_alarming
from daemon.mind.thought_input import seeing
from daemon.processes.wishes import WISHES
from daemon.runtime.abilities import abilities, for_prompt, look_again, look_up
from daemon.runtime.away import silence_of
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import noting_tools
from daemon.runtime.people.sessions import way_to_sessions
from daemon.runtime.sensing import (
    correspondence,
    files_of_talk,
    require_shareable,
    sense_files,
    shared_keys,
    what_is_shared,
    who_is_at_work,
)
from daemon.runtime.unasked import room_for_promises, why_silent
from daemon.soul import Soul
from daemon.soul_engine import integrate, seen_in, with_abilities, with_room


async def follow_links(cycle: Cycle, memory: WorkingMemory) -> WorkingMemory:
    """Add the linked messages, as far as their author and the cycle's readers may know them.

    `cycle.linked` keeps them until the reply is committed. Raises StoreError.
    """
    said = [one for one in cycle.perceptions if one.modality is Modality.WORDS]
    found = [one for each in said for one in await cycle.channel.linked(each, cycle.readers)]
    once = {one.address: one for one in reversed(found)}
    cycle.linked = tuple([await _without_forgotten(cycle, one) for one in reversed(once.values())])
    await cycle.show_done("done_follow", sum(not one.refused for one in cycle.linked))
    return with_linked(memory, cycle.linked, cycle.claim.conversation.workspace)


async def _without_forgotten(cycle: Cycle, one: LinkedMessages) -> LinkedMessages:
    """Drop the words of forgotten people, and then also the soul's own, which may repeat them."""
    said = [(message.author, message.ts) for message in one.messages if not message.own]
    forgotten = await cycle.services.store.standing.forgotten(said)

    def stays(message: ThreadMessage) -> bool:
        return not (message.own or (message.author, message.ts) in forgotten)

    if not forgotten:
        return one
    left = tuple(filter(stays, one.messages))
    return replace(one, messages=left) if left else LinkedMessages(one.address, refused=Sentence("link_gone"))


_JOURNAL = 1  # lines of the journal
_KNOWN_PEOPLE = 3  # the most users since the last reply whose models are recalled


async def process_context(cycle: Cycle, soul: Soul, transcript: Transcript, motor: Motor) -> ProcessContext:
    """Build the context: working memory with everything recalled and every perception integrated. Raises StoreError."""
    services = cycle.services
    thread, aside = await _thread_before(cycle, transcript), await _aside(cycle, transcript)
    if cycle.claim.conversation.thread or transcript.aside:
        await cycle.find_readers()  # again, since earlier authors of the thread are readers, too
    claim, readers = cycle.claim, cycle.readers
    known = await _known(cycle, soul, thread, aside)
    now = services.clock.now_ms()
    said = [turn.body for turn in transcript.turns if turn.speaker is not Speaks.SOUL]
    said += [one.text for one in (*thread, *aside) if not one.own]
    said += [one.content for one in cycle.perceptions if one.modality is Modality.WORDS]  # events hold the soul's own
    cycle.hosts.learn(soul.personality, *said)
    own = [turn.body for turn in transcript.turns if turn.speaker is Speaks.SOUL]
    own += [one.content for one in cycle.perceptions if one.modality is Modality.NOTE]
    cycle.nonce = cycle.nonce.kept_or_drawn(now, (*said, *own, *(one.name for one in cycle.perceptions)))
    language, turn = cycle.newest.language, claim.version
    cycle.show_status(status_of(known.own_state, now, soul, language=language, turn=turn))
    await _find_zone(cycle)
    memory = recall(soul, cycle.newest, transcript, known=known, now_ms=now)
    cycle.earlier_files = await files_of_talk(cycle, transcript)
    async with at_once() as group:
        shared, able = group.create_task(what_is_shared(cycle, soul)), group.create_task(abilities(cycle))
        working = group.create_task(who_is_at_work(cycle))
        memory = await look_up(cycle, soul, transcript, known, memory)
    memory, at_work = with_shared(memory, *shared.result()), working.result()
    memory = with_sessions(memory, at_work, soul.budgets.at_work)
    where = claim.conversation
    setter = author_id(where.workspace, claim.way.person)
    memory = with_room(memory, claim.way.instructions, way_id(where.workspace, where.channel), setter)
    if cycle.newest.modality is Modality.WORDS:
        memory = with_abilities(memory, for_prompt(able.result()))
    memory, pictures = await sense_files(cycle, soul, transcript, thread, memory)
    memory = await follow_links(cycle, memory)
    for perception in cycle.perceptions:
        memory = integrate(memory, perception)
    cycle.saw = seen_in(memory)

    await services.names.learn(one.content for one in memory)
    audiences = (readers.audience, *cycle.heard_by.room_audiences)
    return ProcessContext(
        memory=memory,
        perception=cycle.newest,
        mind=seeing(await services.mind(soul, cycle.calls.append, cycle.charge, audiences, cycle.nonce.code), pictures),
        motor=motor,
        soul=soul,
        interrupt=cycle.interrupt,
        visit=await _visit(cycle, soul, known, transcript, now),
        own_state=known.own_state,
        capabilities=noting_tools(services.capabilities.before(readers), cycle.used_tools.add),
        cycle=replace(
            await _current(cycle, soul, at_work),
            thoughts=known.thoughts,
            at_hand=known.at_hand,
            labels=await _labels(cycle, soul),
        ),
    )


async def _current(cycle: Cycle, soul: Soul, at_work: tuple[CodeSession, ...]) -> CurrentCycle:
    """Return the services of the cycle for a mental process. Raises StoreError."""
    services, readers = cycle.services, cycle.readers

    async def recollect(query: str, limit: int) -> tuple[Passage, ...]:
        if cycle.newest.author in cycle.paused:
            return ()
        found = await services.surfacing.search(cycle.claim.conversation, readers, query, limit)
        await services.names.learn(one.text for one in found)
        cycle.saw |= {source_id(one) for one in found}
        return found

    async def looked_again(memory: WorkingMemory, queries: Sequence[str]) -> WorkingMemory:
        memory = await look_again(cycle, soul, memory, queries)
        cycle.saw |= seen_in(memory)
        await services.names.learn(one.content for one in memory)
        return memory

    return CurrentCycle(
        limits=_limits(cycle, soul),
        usage=cycle.usage,
        absorb_new_messages=cycle.absorb_new_messages,
        recollect=recollect,
        cite=cycle.hosts.learn,
        readers=cycle.heard_by,
        emit=services.emit,
        wishes=WISHES,
        paused=cycle.newest.author in cycle.paused,
        shared_keys=shared_keys(cycle, soul),
        require_shareable=partial(require_shareable, cycle),
        notes=await correspondence(cycle, soul),
        at_work=at_work,
        put_to_session=way_to_sessions(cycle, at_work),
        look_again=looked_again,
        silence=partial(silence_of, cycle, soul),
        thinks_unasked=services.tick_budget(soul) is not None,
        promises=await room_for_promises(cycle, soul),
        quiet=services.quiet_hours,
        silent_for=await why_silent(cycle, promised=bool(promised_by_now(cycle.newest, cycle.at_hand))),
        on_alert=await _is_on_alert(cycle),
    )


async def _labels(cycle: Cycle, soul: Soul) -> Mapping[str, str]:
    if soul.mind != "cycle":
        return {}
    said = [one.content for one in cycle.perceptions if one.modality is Modality.WORDS]
    return await cycle.services.labels.of([*said, *(one.words for one in cycle.at_hand.sensed.readings)])


def _limits(cycle: Cycle, soul: Soul) -> Limits | None:
    """Return the limits of autonomous work here. For a note, which is no person's word, it only reads."""
    limits = cycle.services.limits(soul)
    by_note = cycle.newest.modality is Modality.NOTE
    return replace(limits, reads_only=True) if limits is not None and by_note else limits


async def _visit(cycle: Cycle, soul: Soul, known: RecalledFacts, transcript: Transcript, now: int) -> Visit:
    person, timeout_ms = known.of(cycle.newest.author), cycle.services.visit_timeout_ms
    visit = visit_of(cycle.claim.visit_state, person, transcript, now, timeout_ms)
    if visit.begins or soul.mind != "cycle":
        return visit
    return replace(visit, begun_ms=await cycle.services.store.episodes.begun_ms(cycle.claim.conversation))


async def _is_on_alert(cycle: Cycle) -> bool:
    """Return whether the last feeling in this visit puts the soul on the alert. Raises StoreError."""
    services = cycle.services
    since = services.clock.now_ms() - services.visit_timeout_ms
    return is_alarming(await services.store.qualia.newest(cycle.claim.conversation, since))


async def _known(
    cycle: Cycle, soul: Soul, thread: Sequence[ThreadMessage], aside: Sequence[ThreadMessage]
) -> RecalledFacts:
    thoughts = await _last_thoughts(cycle, soul)  # first, since it sets the time from which memory is read
    cycle.memory_read_at, cycle.holds_earlier = thoughts.read_at, cycle.holds_earlier or thoughts.holds_earlier
    here, holds = cycle.claim.conversation, soul.mind == "cycle" and not cycle.paused
    speaking = [one.author for one in cycle.perceptions] if holds else None
    said = [one.content for one in cycle.perceptions if one.modality is Modality.WORDS]
    async with at_once() as group:
        if cycle.newest.author not in cycle.paused:
            group.create_task(cycle.services.surfacing.expect("\n".join(said).strip()))
        people, own = group.create_task(_people(cycle)), group.create_task(_own_state(cycle, soul, thoughts))
        visits = group.create_task(_visits_before(cycle))
        held = await cycle.services.store.minds.at_hand(here, cycle.readers, speaking)
    cycle.at_hand = at_hand = replace(held, expected=held.expected.after(here, events_of(cycle.perceptions)))
    who, own_state = people.result(), own.result()
    return RecalledFacts(cycle.readers, who, own_state, thread, aside, *visits.result(), thoughts, at_hand)


async def _last_thoughts(cycle: Cycle, soul: Soul) -> LastThoughts:
    if soul.mind != "cycle":
        return NO_THOUGHTS
    return await cycle.services.store.stream.last(cycle.claim.conversation, cycle.readers)


async def _people(cycle: Cycle) -> dict[str, tuple[UserModel, ...]]:
    people = dict.fromkeys(one.author for one in reversed(cycle.perceptions))
    models, claim = cycle.services.store.user_models, cycle.claim
    known = [person for person in list(people)[:_KNOWN_PEOPLE] if person not in cycle.paused]
    return {person: await models.known(person, cycle.readers, claim.conversation) for person in known}


async def _own_state(cycle: Cycle, soul: Soul, thoughts: LastThoughts) -> SoulState | None:
    """Return the soul's mood, topic and task here. What concerns the whole workspace is for its members alone.

    Topic, task and question are only kept by replies in words, so a soul that thinks whole thoughts has none. Such a
    soul gets the words of its feeling if it may have the thought in mind that said so.
    """
    audience = cycle.readers.audience
    if audience not in cycle.readers.may_know(cycle.claim.conversation.workspace):
        return None
    state = await cycle.services.store.soul_states.known(audience, cycle.claim.conversation)
    if state is None or soul.mind != "cycle":
        return state
    felt = state.felt_quality if state.felt_by in thoughts.ids else ""
    return replace(state, topic="", task="", question="", felt_quality=felt)


async def _visits_before(cycle: Cycle) -> tuple[WorkflowState, tuple[JournalEntry, ...]]:
    """Return what earlier visits here left to do, and the soul's journal of them, before exactly these readers alone.

    Return nothing while one of the users who are answered has remembering paused.
    """
    conversation, readers = cycle.claim.conversation, cycle.readers
    if cycle.paused or not readers.members_only:
        return NOTHING_LEFT, ()
    episodes = cycle.services.store.episodes
    left = await episodes.in_mind(conversation, readers.audience)
    # The journal is one for all that was said to an audience; `apart` hears what was said here alone.
    return left, () if readers.apart else await episodes.journal(conversation, readers, _JOURNAL)


async def _find_zone(cycle: Cycle) -> None:
    if not cycle.messages or cycle.newest.zone:
        return
    zone = await cycle.services.store.zones.zone_of(cycle.newest.author)
    newest = cycle.messages[-1]
    cycle.messages = (*cycle.messages[:-1], replace(newest, perception=replace(newest.perception, zone=zone)))


async def _thread_before(cycle: Cycle, transcript: Transcript) -> tuple[ThreadMessage, ...]:
    """Return the thread before the soul was asked in, as the platform shows it today. The transcript holds the rest.

    Each reply reads it again, which forgets deleted messages. The platform still shows the words of a forgotten
    person. They are left out, as are all that the soul said there, which may repeat them.
    """
    first = transcript.turns[0].ts if transcript.turns else cycle.perceptions[0].ts
    thread = await cycle.channel.thread_before(replace(cycle.perceptions[0], ts=first), THREAD_MESSAGES_READ)
    forgotten = await cycle.services.store.standing.forgotten([(one.author, one.ts) for one in thread if not one.own])
    return tuple(one for one in thread if not forgotten or not (one.own or (one.author, one.ts) in forgotten))


async def _aside(cycle: Cycle, transcript: Transcript) -> tuple[ThreadMessage, ...]:
    """Return what admitted users said to each other since the soul last answered (P42)."""
    aside = []
    for one in (message.perception for message in transcript.aside):
        try:
            decision = await cycle.channel.admit(one)
        except NotDelivered as error:
            cycle.services.emit("cycle.aside_unknown", id=one.id, reason=error.message)
            continue
        cycle.outsider_spoke = cycle.outsider_spoke or decision.outsider
        if decision.admitted:
            aside.append(ThreadMessage(one.ts, one.author, decision.name, one.content))
    return tuple(aside)
