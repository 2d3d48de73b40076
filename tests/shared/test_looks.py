"""Watchers share their looks: one read after each news, however many they are, and no news where nothing changed."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from daemon.core.contexts import ADMIN, ContextRefused
from daemon.core.errors import StoreError
from daemon.core.perception import Audience, AudienceKind
from daemon.core.sessions import THE_ADMIN
from daemon.memory.database import Database, open_database
from daemon.memory.shared.store import ContextStore
from daemon.shared.contexts import SharedContexts
from daemon.shared.news import Looks, StoreNews
from daemon.shared.session_context import ContextDoor
from tests.fakes import TIMEOUT, FakeClock
from tests.given import TEAM

EVERYBODY = Audience(AudienceKind.WORKSPACE, TEAM)


class LookedAt:
    """What is watched; counts the looks at it. `waits` holds back a look, `fails` lets one fail."""

    def __init__(self) -> None:
        self.value, self.looks, self.fails = 0, list[tuple[str, ...]](), False
        self.begun, self.waits = asyncio.Event(), asyncio.Event()
        self.waits.set()

    async def look(self, keys: Sequence[str]) -> dict[str, int]:
        """All keys hold the same value."""
        self.looks.append(tuple(keys))
        value = self.value
        self.begun.set()
        await self.waits.wait()
        if self.fails:
            self.fails = False
            raise StoreError("it can't be read")
        return dict.fromkeys(keys, value)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(tmp_path / "memory.db", FakeClock(auto=True)) as opened:
        yield opened


@pytest.fixture
def news(database: Database) -> StoreNews:
    return StoreNews(database, FakeClock())  # its clock stands still: nobody looks without news


@pytest.fixture
def shelf() -> LookedAt:
    return LookedAt()


@pytest.fixture
def door(database: Database, news: StoreNews) -> ContextDoor:
    clock = FakeClock(auto=True)
    return ContextDoor(SharedContexts(ContextStore(database, clock, TEAM), news, clock, ADMIN), EVERYBODY)


async def following(looks: Looks[int], key: str, upto: int) -> list[int]:
    seen = list[int]()
    with looks.watch(key) as watch:
        while not seen or seen[-1] < upto:
            seen.append(await watch.next())
    return seen


async def settled(tasks: Sequence[asyncio.Task[list[int]]], shelf: LookedAt) -> None:
    """Wait until each of the tasks has looked for itself and waits."""
    while len(shelf.looks) < len(tasks):  # noqa: ASYNC110  # the tasks themselves say nothing
        await asyncio.sleep(0)
    for _ in range(5):
        await asyncio.sleep(0)


async def test_one_look_after_news_serves_all_watchers_of_all_keys(news: StoreNews, shelf: LookedAt) -> None:
    looks = Looks(news, shelf.look)
    async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as group:
        tasks = [group.create_task(following(looks, key, 1)) for key in ("a", "b") * 5]
        await settled(tasks, shelf)
        shelf.value = 1
        news.tell()
    assert [task.result() for task in tasks] == [[0, 1]] * 10
    assert shelf.looks[10:] == [("a", "b")]


async def test_a_watcher_that_leaves_leaves_the_others_their_looks(news: StoreNews, shelf: LookedAt) -> None:
    looks = Looks(news, shelf.look)
    async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as group:
        tasks = [group.create_task(following(looks, "a", 1)) for _ in range(3)]
        await settled(tasks, shelf)
        tasks[0].cancel()  # the first waits for news, in the name of all
        await asyncio.wait(tasks[:1])
        shelf.value = 1
        news.tell()
    assert [task.result() for task in tasks[1:]] == [[0, 1]] * 2


async def test_news_during_a_look_is_followed_by_another_look(news: StoreNews, shelf: LookedAt) -> None:
    looks = Looks(news, shelf.look)
    async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as group:
        task = group.create_task(following(looks, "a", 2))
        await settled([task], shelf)
        shelf.waits.clear()
        shelf.begun.clear()
        shelf.value = 1
        news.tell()
        await shelf.begun.wait()
        shelf.value = 2
        news.tell()
        shelf.waits.set()
    assert task.result() == [0, 1, 2]


async def test_a_look_that_fails_is_said_to_one_and_made_good_at_the_next_news(
    news: StoreNews, shelf: LookedAt
) -> None:
    looks = Looks(news, shelf.look)
    async with asyncio.timeout(TIMEOUT):
        tasks = [asyncio.ensure_future(following(looks, "a", 1)) for _ in range(3)]
        await settled(tasks, shelf)
        shelf.value, shelf.fails = 1, True
        news.tell()
        done, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        assert [type(task.exception()) for task in done] == [StoreError]
        assert len(shelf.looks) == 4, "nobody tries again before the next news"
        news.tell()
        assert [await task for task in left] == [[0, 1]] * 2
        assert len(shelf.looks) == 5


async def test_what_changes_nothing_is_told_to_nobody(door: ContextDoor, news: StoreNews) -> None:
    await door.write(THE_ADMIN, "launch", {"phase": "done"}, None)
    assert news.count == 1
    await door.write(THE_ADMIN, "launch", {"phase": "done"}, None)
    await door.renew(THE_ADMIN, "launch", "page", {"cursor": 1})
    await door.leave(THE_ADMIN, "launch", "page")
    assert news.count == 1


async def test_a_watcher_finds_the_context_and_nothing_for_others(door: ContextDoor, news: StoreNews) -> None:
    await door.write(THE_ADMIN, "launch", {"phase": "done"}, None)
    with door.watch("launch") as watch:
        found = await watch.next()
        assert found is not None
        assert found.data == {"phase": "done"}
        await door._contexts.store.define("launch", audience=Audience(AudienceKind.DM, "D1"))
        news.tell()
        assert await watch.next() is None
    with pytest.raises(ContextRefused):
        door.watch("no key")
