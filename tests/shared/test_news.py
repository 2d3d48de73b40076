"""News: a write of another process is told of by the next look, one's own by none, and nothing is looked at between."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from daemon.core.concurrency import alongside
from daemon.core.contexts import ADMIN
from daemon.core.errors import StoreError
from daemon.core.ports.services import SystemClock
from daemon.memory.database import Database, open_database
from daemon.memory.database.sqlite import sqlite3, wal_is_safe
from daemon.memory.shared.store import ContextStore
from daemon.shared.news import LOOK_S, POLL_S, StoreNews
from tests.fakes import TIMEOUT, FakeClock
from tests.given import TEAM


class Looker:
    """Counts its looks; the next one fails where that is said."""

    def __init__(self) -> None:
        self.looks, self.fails = 0, False

    async def look(self) -> None:
        self.looks += 1
        if self.fails:
            self.fails = False
            raise StoreError("it can't be read")


@pytest.fixture(params=["WAL", "TRUNCATE"])
async def database(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    if request.param == "WAL" and not wal_is_safe():
        pytest.skip("this SQLite has the WAL-reset fault")
    async with open_database(tmp_path / "memory.db", SystemClock()):
        pass
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        connection.execute(f"PRAGMA journal_mode={request.param}")
    async with open_database(tmp_path / "memory.db", SystemClock()) as opened:
        yield opened


async def write(database: Database, number: int) -> None:
    await ContextStore(database, SystemClock(), TEAM).write("one", {"number": number}, None, ADMIN)


async def test_a_write_of_another_is_told_of_once_and_ones_own_is_not(database: Database, tmp_path: Path) -> None:
    clock, looker = FakeClock(), Looker()
    news = StoreNews(database, clock)
    async with alongside(news.watch(looker.look)), open_database(tmp_path / "memory.db", SystemClock()) as other:
        await clock.sleepers()
        assert (news.count, looker.looks) == (1, 1), "what was stored before it watched"
        for number in range(3):
            await write(database, number)
            await clock.advance(LOOK_S)
            await clock.sleepers()
        assert (news.count, looker.looks) == (1, 1)
        for seen in (2, 3):
            await write(other, seen + 3)
            async with asyncio.timeout(TIMEOUT):
                while news.count < seen:
                    await clock.advance(LOOK_S)
            await clock.sleepers()
            await clock.advance(LOOK_S)
            await clock.sleepers()
            assert (news.count, looker.looks) == (seen, seen)
    assert set(clock.slept) == {LOOK_S}


async def test_a_look_that_failed_is_made_good(database: Database) -> None:
    clock, looker = FakeClock(), Looker()
    news, looker.fails = StoreNews(database, clock), True
    with pytest.raises(StoreError):
        await news.watch(looker.look)
    async with alongside(news.watch(looker.look)):
        await clock.sleepers()
    assert looker.looks == 2


async def test_what_is_told_between_two_looks_is_not_waited_for_and_without_news_one_looks_anyway(
    database: Database,
) -> None:
    clock = FakeClock(auto=True)
    news = StoreNews(database, clock)
    before = news.count
    news.tell()
    await news.heard(before)
    assert clock.slept == []
    await news.heard(news.count)
    assert clock.slept == [POLL_S]
