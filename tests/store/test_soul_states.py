"""How the soul is stands per audience; of two who would change it at once one is told to look again."""

import asyncio

import pytest

from daemon.core.perception import Audience, AudienceKind
from daemon.memory.database import Database
from daemon.memory.knowledge.soul_states import SoulState, SoulStates
from tests.fakes import FakeClock
from tests.given import SOUL, TEAM
from tests.store.parts import Stores

HERE, THERE = Audience(AudienceKind.DM, "D1"), Audience(AudienceKind.DM, "D2")


@pytest.fixture
def states(database: Database, clock: FakeClock) -> SoulStates:
    return SoulStates(database, clock)


async def felt(states: SoulStates, emotional_state: str, expected: int, audience: Audience = HERE) -> bool:
    return await states.revise(
        SOUL,
        TEAM,
        audience,
        expected_version=expected,
        emotional_state=emotional_state,
        topic=f"topic of {audience}",
        task="help",
    )


async def test_nothing_is_felt_at_first(states: SoulStates) -> None:
    assert await states.known(SOUL, TEAM, HERE) is None


async def test_what_is_felt_before_one_audience_is_known_to_no_other(states: SoulStates, clock: FakeClock) -> None:
    assert await felt(states, "delighted", 0)
    assert await felt(states, "weary", 0, THERE)
    assert await states.known(SOUL, TEAM, HERE) == SoulState("delighted", clock.now_ms(), "topic of dm:D1", "help", 1)
    assert await states.known("eve", TEAM, HERE) is None
    assert await states.known(SOUL, "T2", HERE) is None


async def test_only_the_version_it_was_made_from_can_be_revised(states: SoulStates) -> None:
    assert not await felt(states, "weary", 3)
    assert await states.known(SOUL, TEAM, HERE) is None
    assert await felt(states, "delighted", 0)
    assert not await felt(states, "weary", 0)
    assert not await felt(states, "weary", 2)
    assert await felt(states, "focused", 1)
    known = await states.known(SOUL, TEAM, HERE)
    assert known is not None
    assert (known.emotional_state, known.version) == ("focused", 2)


async def test_of_two_at_once_one_wins(states: SoulStates, others: Stores) -> None:
    rival = SoulStates(others.database, FakeClock())
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(felt(one, "weary", 0)) for one in (states, rival, states, rival)]
    assert sorted(task.result() for task in tasks) == [False, False, False, True]
