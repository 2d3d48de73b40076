"""Awareness: processes see each other as long as they live, pay nothing while nothing changes, and leave no trace."""

import asyncio
import fcntl
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from daemon.core.contexts import SOULS, ContextRefused, Writer
from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports.arrivals import LARGEST_STATE, MemberTaken, WorkPlace
from daemon.core.ports.services import Clock, SystemClock
from daemon.memory.database import Database, open_database
from daemon.memory.queues.presence import Presence
from daemon.memory.shared.store import LEASE_MS, AwarenessStore, ContextStore
from daemon.shared.contexts import SharedContexts
from daemon.shared.events import Doing, SoulAtWork
from daemon.shared.news import open_news
from tests.fakes import TIMEOUT, FakeClock
from tests.given import DM, TEAM
from tests.processes import OtherProcess, without_locks
from tests.shared.counting import Tally

KEY = "lobby"
EVERYBODY = Audience(AudienceKind.WORKSPACE, TEAM)
ADMIN = Audience(AudienceKind.OPERATOR, "")
ADA = Writer("ada", EVERYBODY)


@asynccontextmanager
async def contexts_in(home: Path, clock: Clock, writer: Writer = ADA) -> AsyncIterator[SharedContexts]:
    async with open_database(home / "memory.db", clock) as database, open_news(database, clock) as news:
        yield SharedContexts(ContextStore(database, clock, TEAM), news, clock, writer)


@pytest.fixture
async def contexts(tmp_path: Path) -> AsyncIterator[SharedContexts]:
    async with contexts_in(tmp_path, SystemClock()) as opened:
        yield opened


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """The same file, opened as another process opens it."""
    async with open_database(tmp_path / "memory.db", SystemClock()) as opened:
        yield opened


async def other_process(home: Path, member: str) -> tuple[Process, str]:
    """A process that is present as a member, and what it says of it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.shared.present", str(home), KEY, member, stdin=PIPE, stdout=PIPE
    )
    assert process.stdout is not None
    async with asyncio.timeout(TIMEOUT):
        return process, (await process.stdout.readline()).decode().strip()


async def test_processes_see_each_other_and_who_stops_is_gone_at_once(contexts: SharedContexts, tmp_path: Path) -> None:
    lobby = contexts.use_shared_context(KEY, Tally).awareness
    await lobby.set_local_state({"status": "reading"})
    await lobby.set_local_state_field("cursor", {"x": 100})
    assert lobby.local_state == {"status": "reading", "cursor": {"x": 100}}
    process, said = await other_process(tmp_path, "ben")
    assert said == "present"
    assert await lobby.get_states() == {
        "ada": {"status": "reading", "cursor": {"x": 100}},
        "ben": {"status": "typing"},
    }
    await process.communicate(b"")
    assert list(await lobby.get_states()) == ["ada"]
    await contexts.leave()
    assert await lobby.get_states() == {}


async def test_one_that_is_killed_is_gone_and_its_row_goes_with_the_claims_of_the_dead(
    contexts: SharedContexts, database: Database, tmp_path: Path
) -> None:
    process, _ = await other_process(tmp_path, "ben")
    process.kill()
    await process.wait()
    assert await contexts.awareness(KEY).get_states() == {}
    assert len(await database.rows("SELECT * FROM awareness")) == 1
    presence = Presence(database, SystemClock(), soul="ada", workspace=TEAM, kind="test", version="1", lease=30)
    assert await presence.release_dead_claims(60) == 1
    assert await database.rows("SELECT * FROM awareness") == []


async def test_a_name_in_two_processes_is_refused_till_one_is_dead(contexts: SharedContexts, tmp_path: Path) -> None:
    await contexts.awareness(KEY).set_local_state({"status": "first"})
    process, said = await other_process(tmp_path, "ada")
    assert said == "ada is present at lobby from another process (give each process a name of its own)"
    assert await process.wait() == 0
    assert await contexts.awareness(KEY).get_states() == {"ada": {"status": "first"}}
    await contexts.leave()
    process, _ = await other_process(tmp_path, "ada")
    with pytest.raises(MemberTaken):
        await contexts.awareness(KEY).set_local_state({"status": "second"})
    assert contexts.awareness(KEY).local_state == {}
    process.kill()
    await process.wait()
    await contexts.awareness(KEY).set_local_state({"status": "second"})
    assert await contexts.awareness(KEY).get_states() == {"ada": {"status": "second"}}


async def test_a_state_that_can_not_be_stored_is_refused_and_one_that_stays_costs_no_write(
    contexts: SharedContexts, database: Database, tmp_path: Path
) -> None:
    states: tuple[tuple[dict[str, object], str], ...] = (
        ({"a": "x" * LARGEST_STATE}, f"{LARGEST_STATE} are the most"),
        ({"a": float("nan")}, "a is nan"),
        ({"a": {1: 2}}, "a name in a is a number"),
    )
    for state, said in states:
        with pytest.raises(ContextRefused, match=said):
            await contexts.awareness(KEY).set_local_state(state)
    assert await contexts.awareness(KEY).get_states() == {}
    for change in (
        contexts.awareness(SOULS).set_local_state({"doing": "nothing"}),
        contexts.store.write(SOULS, {"a": 1}, None, Writer("operator", ADMIN)),
        contexts.store.define(SOULS, writers=["ada"]),
        contexts.store.awareness.renew(SOULS, "ada", {}, Writer("operator", ADMIN)),
    ):
        with pytest.raises(ContextRefused, match="kept by the daemons alone"):
            await change
    lobby = contexts.awareness(KEY)
    await lobby.set_local_state({"status": "reading"})
    before = await database.fingerprint()
    await lobby.set_local_state({"status": "reading"})
    await lobby.set_local_state_field("status", "reading")
    assert await database.fingerprint() == before
    await asyncio.gather(*(lobby.set_local_state_field(f"f{number}", number) for number in range(10)))
    assert (await lobby.get_states())["ada"] == {"status": "reading"} | {f"f{number}": number for number in range(10)}
    assert await database.fingerprint() != before


async def test_who_speaks_in_private_shows_nothing_to_all_who_read(tmp_path: Path) -> None:
    private = Writer("ada", Audience(AudienceKind.DM, "D1"))
    async with contexts_in(tmp_path, SystemClock(), private) as contexts:
        with pytest.raises(ContextRefused, match="not for all who read"):
            await contexts.awareness(KEY).set_local_state({"topic": "canary"})
        await contexts.store.define("mine", audience=private.audience)
        await contexts.awareness("mine").set_local_state({"topic": "ours"})
        assert await contexts.awareness("mine").get_states() == {"ada": {"topic": "ours"}}


async def test_a_member_over_http_goes_with_its_lease(tmp_path: Path) -> None:
    clock = FakeClock()
    async with open_database(tmp_path / "memory.db", clock) as database:
        store = AwarenessStore(database, clock, TEAM)
        await store.renew(KEY, "page", {"at": 1}, ADA)
        await clock.advance(LEASE_MS / 1000 - 1)
        await store.renew(KEY, "page", {"at": 1}, ADA)
        await clock.advance(LEASE_MS / 1000 - 1)
        assert [one.process for one in await store.members(KEY, EVERYBODY)] == ["http"]
        await clock.advance(1)
        assert await store.members(KEY, EVERYBODY) == []
        await clock.advance(1)
        presence = Presence(database, clock, soul="ada", workspace=TEAM, kind="test", version="1", lease=30)
        assert await presence.release_dead_claims(60) == 0
        assert await database.rows("SELECT * FROM awareness") == []


async def test_of_a_process_that_can_not_be_seen_the_last_sign_of_life_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    monkeypatch.setattr(fcntl, "flock", without_locks)
    async with open_database(tmp_path / "memory.db", clock) as database:
        elsewhere = OtherProcess(database.path).name
        store = AwarenessStore(database, clock, TEAM)
        await store.set(KEY, "ben", elsewhere, {}, writer=Writer("ben", EVERYBODY))
        await clock.advance(120)
        assert [one.member for one in await store.members(KEY, EVERYBODY)] == ["ben"]
        await database.run(
            """
            INSERT INTO presence (id, soul, workspace, kind, host, pid, version, sqlite, started_ms, seen_ms, state)
            VALUES (:id, 'ben', 'T1', 'slack', 'another-host', 1, '1', '3', 0, :now, 'connected')
            """,
            id=elsewhere,
            now=clock.now_ms(),
        )
        await clock.advance(59)
        assert len(await store.members(KEY, EVERYBODY)) == 1
        await clock.advance(2)
        assert await store.members(KEY, EVERYBODY) == [], "a daemon that beats no more is gone"
        await database.run("DELETE FROM presence")
        await clock.advance(3600)
        assert await store.members(KEY, EVERYBODY) == []


async def test_no_presence_of_a_clock_that_was_far_ahead_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", without_locks)
    clock, ahead = FakeClock(), FakeClock(start_ms=2_000_000_000_000)
    async with open_database(tmp_path / "memory.db", clock) as database:
        theirs, ours = AwarenessStore(database, ahead, TEAM), AwarenessStore(database, clock, TEAM)
        await theirs.renew(KEY, "page", {}, ADA)
        elsewhere = OtherProcess(database.path).name
        await theirs.set(KEY, "ben", elsewhere, {}, writer=Writer("ben", EVERYBODY))
        assert await ours.members(KEY, EVERYBODY) == []
        presence = Presence(database, clock, soul="ada", workspace=TEAM, kind="test", version="1", lease=30)
        await presence.release_dead_claims(60)
        assert [row["member"] for row in await database.rows("SELECT member FROM awareness")] == ["ben"]
        await ours.renew(KEY, "ben", {}, Writer("ben", EVERYBODY))
        assert [one.process for one in await ours.members(KEY, EVERYBODY)] == ["http"]


async def test_where_a_soul_works_is_known_to_those_alone_who_may_know_it(contexts: SharedContexts) -> None:
    store, own = contexts.store.awareness, contexts.store.awareness.process
    places = [WorkPlace(f"workspace:{TEAM}", "open"), WorkPlace("dm:D1", "hidden"), WorkPlace("channel:C9", "closed")]
    await store.set_soul("ada", own, {"doing": "thinking"}, places)

    async def seen_by(reader: Audience) -> object:
        (one,) = await store.members(SOULS, reader)
        return one.state

    assert await seen_by(EVERYBODY) == {"doing": "thinking", "where": ["open"]}
    assert await seen_by(Audience(AudienceKind.DM, "D1")) == {"doing": "thinking", "where": ["open", "hidden"]}
    assert await seen_by(Audience(AudienceKind.DM, "D2")) == {"doing": "thinking", "where": ["open"]}
    assert await seen_by(ADMIN) == {"doing": "thinking", "where": ["open", "hidden", "closed"]}


class SoulSeen:
    """A soul at work on a clock that a test turns, and what others see of it."""

    def __init__(self, contexts: SharedContexts, clock: FakeClock) -> None:
        self.store = contexts.store.awareness
        self.clock = clock
        self.at_work = SoulAtWork(self.store, clock, "ada")

    async def shows(self, doing: str) -> None:
        """Wait until all of the workspace sees the soul do this."""
        async with asyncio.timeout(TIMEOUT):
            while [one.state["doing"] for one in await self.store.members(SOULS, EVERYBODY)] != [doing]:
                await self.clock.advance(0.1)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[SoulSeen]:
    clock = FakeClock()
    async with contexts_in(tmp_path, clock) as contexts:
        made = SoulSeen(contexts, clock)
        running = asyncio.ensure_future(made.at_work.run())
        await made.shows("idle")
        yield made
        running.cancel()
        await asyncio.wait((running,))


async def test_a_soul_shows_the_most_it_does_and_what_is_brief_not_at_all(desk: SoulSeen, database: Database) -> None:
    with desk.at_work.works(DM, EVERYBODY) as does:
        await desk.shows("thinking")
        does(Doing.SPEAKING)
        await desk.shows("speaking")
        with desk.at_work.works(DM, EVERYBODY) as also_does:
            also_does(Doing.SOLVING)
            await desk.shows("solving")
        await desk.shows("speaking")
    await desk.shows("idle")
    before = await database.fingerprint()
    for _ in range(5):
        with desk.at_work.works(DM, EVERYBODY):
            await desk.clock.sleep(0)
        await desk.clock.sleepers()
        await desk.clock.advance(1)
    assert await database.fingerprint() == before


async def test_a_soul_that_another_daemon_hosts_too_is_shown_with_a_number(desk: SoulSeen, database: Database) -> None:
    await database.run("UPDATE awareness SET process = :other", other=OtherProcess(database.path).name)
    with desk.at_work.works(DM, EVERYBODY):
        async with asyncio.timeout(TIMEOUT):
            while len(found := await desk.store.members(SOULS, EVERYBODY)) < 2:
                await desk.clock.advance(0.1)
    assert [(one.member, one.state["doing"]) for one in found] == [("ada", "idle"), ("ada:2", "thinking")]
