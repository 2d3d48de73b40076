"""The soul has a state for each audience; of simultaneous revisions one wins."""

import asyncio

import pytest
from msgspec.structs import replace

from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.memory.database import Database
from daemon.memory.knowledge.soul_states import QUESTION_LAPSES_MS, NewState, SoulState, SoulStates
from tests.fakes import FakeClock
from tests.given import DM, SOUL, TEAM, thread
from tests.store.parts import WORKER, Stores, room

HERE, THERE = Audience(AudienceKind.DM, "D1"), Audience(AudienceKind.DM, "D2")
IN_THREAD, ELSEWHERE = thread("5.000000", "D1"), thread("6.000000", "D2")


@pytest.fixture
async def states(database: Database, clock: FakeClock) -> SoulStates:
    for conversation in (DM, IN_THREAD, ELSEWHERE):
        await room(database, conversation)
    return SoulStates(database, clock, WORKER)


async def revise(  # noqa: PLR0917 - a test's own shorthand
    states: SoulStates,
    mood: str,
    expected: int,
    audience: Audience = HERE,
    conversation: ConversationKey = DM,
    question: str = "",
) -> bool:
    known = SoulState("", 0, version=expected, topic_version=expected)
    new = NewState(mood, topic=f"topic of {conversation.channel}", task="help", question=question)
    return await states.revise(audience, conversation, new, instead_of=known)


async def test_a_state_is_known_to_its_audience_alone(states: SoulStates, database: Database, clock: FakeClock) -> None:
    assert await states.known(HERE, DM) is None
    assert await revise(states, "delighted", 0)
    assert await revise(states, "weary", 0, THERE, ELSEWHERE)
    here = SoulState("delighted", clock.now_ms(), "topic of D1", "help", version=1, topic_version=1)
    assert await states.known(HERE, DM) == here
    other = await states.known(HERE, IN_THREAD)
    assert other is not None
    assert (other.emotional_state, other.topic, other.task) == ("delighted", "", ""), "threads share the mood alone"
    assert await states.known(THERE, ELSEWHERE) == replace(here, emotional_state="weary", topic="topic of D2")
    assert await states.known(THERE, DM) == replace(here, emotional_state="weary", topic="", task="", topic_version=0)
    for soul, workspace in (("eve", TEAM), (SOUL, "T2")):
        worker = replace(WORKER, soul=soul, workspace=workspace)
        key = replace(DM, soul=soul, workspace=workspace)
        assert await SoulStates(database, clock, worker).known(HERE, key) is None


async def test_a_question_is_carried_from_thread_to_thread_of_one_room(states: SoulStates, clock: FakeClock) -> None:
    assert await revise(states, "delighted", 0, question="Did the dam hold?")
    other = await states.known(HERE, IN_THREAD)
    assert other is not None
    assert other.question == "Did the dam hold?"
    assert await states.known(THERE, DM) is None, "it stays with its audience"
    assert await states.known(THERE, ELSEWHERE) is None
    assert await revise(states, "delighted", 1)
    known = await states.known(HERE, IN_THREAD)
    assert known is not None
    assert known.question == "", "the soul let go of it"
    assert await revise(states, "delighted", 2, question="Did the dam hold?")
    await clock.advance(QUESTION_LAPSES_MS / 1000)
    known = await states.known(HERE, DM)
    assert known is not None
    assert known.question == "", "nothing renewed it"


async def test_a_revision_needs_the_versions_in_force(states: SoulStates) -> None:
    assert not await revise(states, "weary", 3)
    assert await states.known(HERE, DM) is None
    assert await revise(states, "delighted", 0)
    assert not await revise(states, "weary", 0)
    assert not await revise(states, "weary", 2)
    assert await revise(states, "focused", 1)
    known = await states.known(HERE, DM)
    assert known is not None
    assert (known.emotional_state, known.version, known.topic_version) == ("focused", 2, 2)


async def test_of_simultaneous_revisions_one_wins(states: SoulStates, others: Stores) -> None:
    rival = SoulStates(others.database, FakeClock(), WORKER)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(revise(one, "weary", 0)) for one in (states, rival, states, rival)]
    assert sorted(task.result() for task in tasks) == [False, False, False, True]
