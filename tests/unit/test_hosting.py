"""Daemons on one memory.db accept for each other's souls, in the channels that those name, as long as they live."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from daemon.app.lifecycle import Hosting
from daemon.memory.database import Database, open_database
from daemon.memory.queues.presence import Presence
from daemon.soul import Souls
from tests.fakes import Events, FakeClock
from tests.journeys.souls import write_soul
from tests.processes import OtherProcess
from tests.store.parts import look, poke

OURS = "U0SOUL"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(auto=True)


@pytest.fixture
async def database(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Database]:
    async with open_database(tmp_path / "memory.db", clock) as opened:
        yield opened


@pytest.fixture
def souls(tmp_path: Path) -> Souls:
    write_soul(tmp_path, more='channels = ["C0OURS"]\n')
    return Souls(lambda _: tmp_path / "souls", "tess", (), Events())


@pytest.fixture
def presence(database: Database, clock: FakeClock) -> Presence:
    return Presence(database, clock, soul="tess", workspace="T1", kind="slack", version="0", lease=30)


@pytest.fixture
def hosting(presence: Presence, souls: Souls) -> Hosting:
    return Hosting(presence, souls, OURS, lambda: "http://127.0.0.1:1")


@contextmanager
def neighbour(path: Path, souls: Mapping[str, Sequence[str]], account: str = OURS) -> Iterator[None]:
    """The row of another daemon, until it dies."""
    with OtherProcess(path) as other:
        detail = json.dumps({"active": 0, "souls": souls, "account": account})
        poke(path, f"UPDATE presence SET id = '{other.name}', detail = '{detail}'")
        yield


async def test_a_heartbeat_says_which_souls_are_hosted_with_their_channels_and_where_http_listens(
    hosting: Hosting, database: Database
) -> None:
    await hosting.say("connected", {"active": 2})
    [(detail,)] = look(database.path, "SELECT detail FROM presence")
    assert json.loads(str(detail)) == {
        "active": 2,
        "souls": {"tess": ["C0OURS"]},
        "called": {"tess": "Tess"},
        "account": OURS,
        "http": "http://127.0.0.1:1",
    }


async def test_the_channels_of_another_daemons_souls_are_theirs_as_long_as_it_lives(
    hosting: Hosting, souls: Souls, database: Database, clock: FakeClock
) -> None:
    await hosting.say("connected", {})
    with neighbour(database.path, {"ben": ["C0THEIRS", "C0OURS"], "eva": []}):
        assert souls.for_channel("C0THEIRS") == "tess"
        await hosting.refresh()
        assert souls.for_channel("C0THEIRS") == "ben"
        assert souls.for_channel("C0OURS") == "tess", "a soul that is hosted here comes first"
        assert souls.for_channel("C0OTHER") == "tess", "no soul names it"
        assert souls.hosted("ben").name == "tess"
        await clock.sleep(61)
        await hosting.refresh()
        assert souls.for_channel("C0THEIRS") == "tess", "a silent daemon hosts no soul"
        assert not await hosting.has_neighbours()
        await hosting.say("connected", {})
        await database.write(lambda it: it.run("UPDATE presence SET seen_ms = :now", now=clock.now_ms()))
        await hosting.refresh()
        assert souls.for_channel("C0THEIRS") == "ben"
    await hosting.refresh()
    assert souls.for_channel("C0THEIRS") == "tess", "no living daemon hosts its soul"


async def test_a_daemon_of_another_account_or_an_older_program_hosts_no_soul_for_us(
    hosting: Hosting, souls: Souls, database: Database
) -> None:
    await hosting.say("connected", {})
    with neighbour(database.path, {"ben": ["C0THEIRS"]}, account="U0OTHER"):
        await hosting.refresh()
        assert souls.for_channel("C0THEIRS") == "tess", "another account hears its own messages"
        poke(database.path, "UPDATE presence SET detail = '{\"active\": 0}'")
        await hosting.refresh()
        assert souls.for_channel("C0THEIRS") == "tess", "an older program says nothing of its souls"
        assert await hosting.has_neighbours()


async def test_one_channel_that_souls_of_two_daemons_name_is_reported_once(tmp_path: Path) -> None:
    write_soul(tmp_path, more='channels = ["C0OURS"]\n')
    events = Events()
    souls = Souls(lambda _: tmp_path / "souls", "tess", (), events)
    for _ in range(2):
        souls.set_elsewhere({"C0OURS": "ben"})
    assert [event["reason"] for event in events.named("soul.broken")] == [
        "souls of two daemons both name C0OURS (tess and ben)"
    ]
