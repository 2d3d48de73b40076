"""Rows of bound threads: of two bindings at once one counts, and a thread that is handed over stays bound."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Place
from daemon.core.questions import BoundThread
from daemon.memory.bound_threads import BindingRefused, bind, bound_thread, bound_to, follow_session
from daemon.memory.database import Database, Transaction, open_database
from daemon.memory.queues.claims import open_conversation
from daemon.memory.queues.handoffs import Handoff, hand_over
from tests.fakes import FakeClock
from tests.given import TEAM, thread

ROOM, OTHER = thread("100.000001"), thread("200.000002")
EVERYBODY = Audience(AudienceKind.WORKSPACE, TEAM)
NOW = 1_000


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(tmp_path / "memory.db", FakeClock(auto=True)) as opened:
        for where in (ROOM, OTHER, replace(ROOM, thread="")):
            await opened.write(partial(_begin, where=where))
        yield opened


async def _begin(unit: Transaction, where: ConversationKey) -> None:
    await open_conversation(unit, where, Place.PUBLIC_CHANNEL, EVERYBODY, NOW)


async def binds(database: Database, session: str, where: ConversationKey = ROOM) -> bool:
    try:
        await database.write(lambda unit: bind(unit, BoundThread(str(where), session, "UADA", False, NOW), NOW))
    except BindingRefused:
        return False
    return True


async def session_of(database: Database, where: ConversationKey) -> str:
    found = await database.read(lambda unit: bound_thread(unit, where))
    return found.session if found else ""


async def test_of_two_sessions_at_once_one_gets_the_thread(database: Database) -> None:
    assert sorted(await asyncio.gather(*(binds(database, f"s{n}") for n in range(4)))) == [False, False, False, True]


async def test_of_two_threads_at_once_one_gets_the_session(database: Database) -> None:
    assert all(await asyncio.gather(binds(database, "s1"), binds(database, "s1", OTHER)))
    assert sorted([await session_of(database, ROOM), await session_of(database, OTHER)]) == ["", "s1"]


async def test_a_thread_that_is_handed_over_there_and_back_stays_bound(database: Database) -> None:
    await binds(database, "s1")
    bens = replace(ROOM, soul="ben")

    async def handed(unit: Transaction) -> None:
        await hand_over(unit, ROOM, Handoff("ben", "UADA", "100.000001"), NOW)

    await database.write(handed)
    assert [await session_of(database, one) for one in (ROOM, bens)] == ["s1", "s1"], "also while no one hosts ben"
    found = await database.read(lambda unit: bound_to(unit, "s1"))
    assert found is not None
    assert found.conversation == str(bens)

    async def back(unit: Transaction) -> None:
        await hand_over(unit, bens, Handoff(ROOM.soul, "UADA", "100.000001"), NOW)

    await database.write(back)
    assert await session_of(database, ROOM) == "s1"


async def test_a_thread_follows_the_session_after_clear_and_messages_bind_their_threads(database: Database) -> None:
    timeline = replace(ROOM, thread="")
    await binds(database, "s1", timeline)
    assert await session_of(database, ROOM) == "s1"
    await database.write(lambda unit: follow_session(unit, "s1", "s2"))
    assert [await session_of(database, one) for one in (ROOM, timeline)] == ["s2", "s2"]
