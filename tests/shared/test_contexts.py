"""Shared contexts: no change is lost, none is written that doesn't fit or that its readers may not know."""

import asyncio
import json
import math
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from daemon.core.contexts import LARGEST, ContextConflict, ContextRefused, Writer, as_stored, checked_key
from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports.services import SystemClock
from daemon.memory.database import Database, open_database
from daemon.memory.shared.contexts import KEPT_VERSIONS
from daemon.memory.shared.store import ContextStore
from daemon.shared.contexts import RawContext, SharedContexts
from daemon.shared.news import StoreNews, open_news
from tests.fakes import TIMEOUT
from tests.given import TEAM
from tests.shared.counting import KEY, Tally, one_more

EVERYBODY = Audience(AudienceKind.WORKSPACE, TEAM)
ADA = Writer("ada", EVERYBODY)
PRIVATE = Writer("ada", Audience(AudienceKind.DM, "D1"))


class GameState(BaseModel):
    """The lobby of seed 003."""

    players: list[str] = []
    game_phase: str = "lobby"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(tmp_path / "memory.db", SystemClock()) as opened:
        yield opened


@pytest.fixture
async def news(database: Database) -> AsyncIterator[StoreNews]:
    async with open_news(database, SystemClock()) as opened:
        yield opened


@pytest.fixture
def store(database: Database) -> ContextStore:
    return ContextStore(database, SystemClock(), TEAM)


def contexts(store: ContextStore, news: StoreNews, writer: Writer = ADA) -> SharedContexts:
    return SharedContexts(store, news, SystemClock(), writer)


async def test_two_souls_share_a_lobby(store: ContextStore, news: StoreNews) -> None:
    ones = contexts(store, news).use_shared_context("game-lobby", GameState)
    others = contexts(store, news, Writer("ben", EVERYBODY)).use_shared_context("game-lobby", GameState)
    await ones.ready()
    assert (ones.version, ones.data.players) == (0, [])
    await ones.update(lambda lobby: lobby.model_copy(update={"players": [*lobby.players, "SoulA"]}))
    await others.update(lambda lobby: lobby.model_copy(update={"players": [*lobby.players, "SoulB"]}))
    await ones.ready()
    assert (ones.version, ones.data.players) == (2, ["SoulA", "SoulB"])
    await others.set(GameState(players=[], game_phase="playing"))
    written = await store.history("game-lobby", 10)
    assert [(one.version, one.author, one.data["players"]) for one in written] == [
        (3, "ben", []),
        (2, "ben", ["SoulA", "SoulB"]),
        (1, "ada", ["SoulA"]),
    ]
    await store.write("game-lobby", {"players": "nobody"}, None, ADA)
    lobby = contexts(store, news).use_shared_context("game-lobby", GameState)
    await lobby.ready()
    with pytest.raises(ContextRefused, match="game-lobby: players: "):
        _ = lobby.data


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_four_processes_lose_no_increment(tmp_path: Path, store: ContextStore) -> None:
    processes = [
        await asyncio.create_subprocess_exec(sys.executable, "-m", "tests.shared.counting", str(tmp_path), "50")
        for _ in range(4)
    ]
    assert [await one.wait() for one in processes] == [0] * 4
    assert (await store.get(KEY)).data == {"count": 200}


async def test_who_was_slower_is_asked_again_with_the_newest_data(store: ContextStore, news: StoreNews) -> None:
    counter = contexts(store, news).use_shared_context(KEY, Tally)
    await asyncio.gather(*(counter.update(one_more) for _ in range(20)))
    assert (await store.get(KEY)).data == {"count": 20}


async def test_the_same_data_is_no_new_version_and_old_versions_go(store: ContextStore) -> None:
    for number in range(KEPT_VERSIONS + 5):
        await store.write("plan", {"step": number}, None, ADA)
    assert (await store.write("plan", {"step": KEPT_VERSIONS + 4}, None, ADA)).version == KEPT_VERSIONS + 5
    kept = await store.history("plan", 1_000)
    assert [one.version for one in kept] == list(range(KEPT_VERSIONS + 5, 5, -1))
    with pytest.raises(ContextConflict) as conflict:
        await store.write("plan", {"step": 2}, 1, ADA)
    assert conflict.value.found.data == {"step": KEPT_VERSIONS + 4}


async def test_nothing_private_gets_to_others_named_writers_write_and_a_form_binds_all(store: ContextStore) -> None:
    with pytest.raises(ContextRefused, match="not for all who read"):
        await store.write("plan", {"secret": "canary"}, None, PRIVATE)
    assert (await store.get("plan")).version == 0
    await store.define("mine", audience=PRIVATE.audience)
    assert (await store.write("mine", {"note": "between us"}, None, PRIVATE)).version == 1
    with pytest.raises(ContextRefused, match="was not written for"):
        await store.define("mine", audience=EVERYBODY)
    assert (await store.write("mine", {"note": "open"}, None, ADA)).version == 2
    await store.define("plan", writers=["ben"])
    with pytest.raises(ContextRefused, match="ada may not write plan"):
        await store.write("plan", {}, None, ADA)
    assert (await store.write("plan", {"a": 1}, None, Writer("ben", EVERYBODY))).author == "ben"
    admin = Writer("operator", Audience(AudienceKind.OPERATOR, ""))
    assert (await store.write("plan", {"a": 2}, None, admin)).author == "operator"


def test_what_is_no_finite_json_object_of_a_small_size_is_refused() -> None:
    for data, said in (
        ([], "has to be an object"),
        ({"a": {"b": [1, math.nan]}}, "a/b/1 is nan"),
        ({"a": math.inf}, "a is inf"),
        ({"a": [-(10**5_000)]}, "a/0 is a number of thousands of digits"),
        ({"a": {1: 2}}, "a name in a is a number"),
        ({"a": b"x"}, "a is a bytes"),
        ({"a": "\ud800"}, "a holds half of a character"),
        ({"a": "x" * LARGEST}, f"{LARGEST} are the most"),
        (json.loads('{"a":' * 200 + "1" + "}" * 200), "nested more than 32 deep"),
    ):
        with pytest.raises(ContextRefused) as refused:
            as_stored(data)
        assert said in refused.value.message


@given(st.text(max_size=80))
def test_a_key_is_short_and_plain_or_refused(text: str) -> None:
    try:
        assert checked_key(text) == text
    except ContextRefused:
        return
    assert text.isascii()
    assert 1 <= len(text) <= 64
    assert text == text.lower().strip(" /\\\0")
    assert not text.startswith((".", "-", "_"))


async def test_a_change_elsewhere_is_noticed(store: ContextStore, news: StoreNews, tmp_path: Path) -> None:
    seen = RawContext(contexts(store, news), KEY).changes()
    assert (await anext(seen)).version == 0
    next_one = asyncio.ensure_future(anext(seen))
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "tests.shared.counting", str(tmp_path), "1")
    async with asyncio.timeout(TIMEOUT):
        assert (await next_one).data == {"count": 1}
    assert await process.wait() == 0
    await seen.aclose()
