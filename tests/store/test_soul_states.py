"""The soul has a state for each audience; of simultaneous revisions one wins."""

import asyncio
from dataclasses import replace

import pytest

from daemon.core.perception import Audience, AudienceKind
from daemon.memory.database import Database
from daemon.memory.knowledge.soul_states import SoulState, SoulStates
from tests.fakes import FakeClock
from tests.given import SOUL, TEAM
from tests.store.parts import WORKER, Stores

HERE, THERE = Audience(AudienceKind.DM, "D1"), Audience(AudienceKind.DM, "D2")


@pytest.fixture
def states(database: Database, clock: FakeClock) -> SoulStates:
    return SoulStates(database, clock, WORKER)


async def revise(states: SoulStates, emotional_state: str, expected: int, audience: Audience = HERE) -> bool:
    return await states.revise(
        audience,
        expected_version=expected,
        emotional_state=emotional_state,
        topic=f"topic of {audience}",
        task="help",
    )


async def test_a_new_soul_has_no_state(states: SoulStates) -> None:
    assert await states.known(HERE) is None


async def test_a_state_is_known_to_its_audience_alone(states: SoulStates, database: Database, clock: FakeClock) -> None:
    assert await revise(states, "delighted", 0)
    assert await revise(states, "weary", 0, THERE)
    assert await states.known(HERE) == SoulState("delighted", clock.now_ms(), "topic of dm:D1", "help", 1)
    assert await states.known(THERE) == SoulState("weary", clock.now_ms(), "topic of dm:D2", "help", 1)
    for soul, workspace in (("eve", TEAM), (SOUL, "T2")):
        worker = replace(WORKER, soul=soul, workspace=workspace)
        assert await SoulStates(database, clock, worker).known(HERE) is None


async def test_a_revision_needs_the_version_in_force(states: SoulStates) -> None:
    assert not await revise(states, "weary", 3)
    assert await states.known(HERE) is None
    assert await revise(states, "delighted", 0)
    assert not await revise(states, "weary", 0)
    assert not await revise(states, "weary", 2)
    assert await revise(states, "focused", 1)
    known = await states.known(HERE)
    assert known is not None
    assert (known.emotional_state, known.version) == ("focused", 2)


async def test_of_simultaneous_revisions_one_wins(states: SoulStates, others: Stores) -> None:
    rival = SoulStates(others.database, FakeClock(), WORKER)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(revise(one, "weary", 0)) for one in (states, rival, states, rival)]
    assert sorted(task.result() for task in tasks) == [False, False, False, True]
