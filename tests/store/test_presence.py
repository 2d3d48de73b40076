"""Dead daemons are distinguished from living ones, and their claims are released at once."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.memory.consolidation.slots import NightSlots
from daemon.memory.database import Database
from daemon.memory.queues.presence import Presence
from daemon.memory.records import Worker
from tests.fakes import FakeClock
from tests.given import LEASE, SOUL, TEAM, effect, new_message, thread
from tests.processes import OtherProcess, without_locks
from tests.store.parts import Stores, look, poke

OTHER = thread("9.0")

IN_DOUBT = 5.0
YEAR_MS = 365 * 24 * 3600 * 1000


@pytest.fixture
def other(path: Path) -> Iterator[OtherProcess]:
    with OtherProcess(path) as living:
        yield living


@pytest.fixture
def presence(database: Database, clock: FakeClock) -> Presence:
    return Presence(database, clock, soul=SOUL, workspace=TEAM, kind="test", version="0", lease=30)


async def test_the_claims_of_a_killed_daemon_are_released_at_once(
    database: Database, clock: FakeClock, other: OtherProcess, presence: Presence
) -> None:
    theirs, ours = Stores.of(database, clock, other.name), Stores.of(database, clock, database.processes.own)
    await theirs.inbox.accept(new_message("1.0"))
    post = await theirs.commits.commit(effect(await theirs.claim(), "a", jobs=("summarizes",)))
    job = await theirs.jobs.claim_next()
    await theirs.inbox.accept(new_message("2.0", conversation=OTHER))
    claim = await theirs.claim()
    assert await presence.release_dead_claims(IN_DOUBT) == 0
    assert not presence.anyone_died()
    assert await ours.conversations.claim_next() is None
    other.die()
    assert presence.anyone_died()
    assert await presence.release_dead_claims(IN_DOUBT) == 1
    assert not presence.anyone_died()
    taken, redone = await ours.claim(), await ours.jobs.claim_next()
    assert taken.fence == claim.fence + 1
    assert redone is not None
    assert job is not None
    assert redone.fence == job.fence + 1
    assert await ours.outbox.claim_next() is None  # its last request may still be under way
    await clock.advance(IN_DOUBT + 0.1)
    found = await ours.outbox.claim_next()
    assert found is not None
    assert post is not None
    assert (found.doubtful, found.post.key) == (True, post.post.key)
    assert await presence.release_dead_claims(IN_DOUBT) == 0


async def test_a_living_daemon_keeps_its_claims_and_without_locks_the_lease_decides(
    stores: Stores, other: OtherProcess, presence: Presence, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, clock = stores.database, stores.clock
    theirs = Stores.of(database, clock, other.name)
    await theirs.inbox.accept(new_message())
    claim = await theirs.claim()
    before = look(stores.path, "SELECT * FROM conversations")
    assert await presence.release_dead_claims(IN_DOUBT) == 0
    assert look(stores.path, "SELECT * FROM conversations") == before
    await theirs.conversations.renew(claim)
    other.die()
    monkeypatch.setattr(fcntl, "flock", without_locks)
    assert await presence.release_dead_claims(IN_DOUBT) == 0
    await theirs.conversations.renew(claim)
    await clock.advance(LEASE)
    assert (await Stores.of(database, clock).claim()).fence == claim.fence + 1


async def test_no_claim_of_a_clock_that_is_far_ahead_binds_for_ever(
    stores: Stores, other: OtherProcess, presence: Presence
) -> None:
    ahead = FakeClock(start_ms=stores.clock.now_ms() + YEAR_MS)
    ours = Stores.of(stores.database, stores.clock, stores.database.processes.own)
    await ours.inbox.accept(new_message("1.0"))
    await ours.commits.commit(effect(await ours.claim(), "a", jobs=("summarizes",)))
    await ours.inbox.accept(new_message("2.0", conversation=OTHER))
    theirs = Stores.of(stores.database, ahead, other.name)
    await theirs.claim()
    assert await theirs.jobs.claim_next()
    assert await theirs.outbox.claim_next()
    poke(stores.path, "UPDATE outbox SET lease_until = lease_until + ? WHERE state = 'sending'", YEAR_MS)
    night = NightSlots(stores.database, ahead, Worker(other.name, SOUL, TEAM, 30_000))
    assert await night.take(await night.newest(), ahead.now_ms(), by_hand=True)
    for _ in range(2):  # a living holder would have renewed its claims
        assert await presence.release_dead_claims(IN_DOUBT) == 0
        assert await ours.conversations.claim_next() is None
        assert await ours.jobs.claim_next() is None
        await stores.clock.advance(46)
    await stores.clock.advance(1)
    assert await ours.claim()
    assert await ours.jobs.claim_next()
    assert await ours.outbox.claim_next()
    assert (await NightSlots(stores.database, stores.clock, Worker("us", SOUL, TEAM, 30_000)).newest()).free


async def test_no_job_of_a_clock_that_is_far_ahead_waits_for_ever(
    stores: Stores, other: OtherProcess, presence: Presence
) -> None:
    ours = Stores.of(stores.database, stores.clock)
    theirs = Stores.of(stores.database, FakeClock(start_ms=stores.clock.now_ms() + YEAR_MS), other.name)
    await theirs.inbox.accept(new_message("1.0"))
    made = effect(await theirs.claim(), "a", jobs=("models_the_visitor",))
    await theirs.commits.commit(replace(made, lulls={"models_the_visitor": 90_000}))
    assert await ours.jobs.claim_next() is None
    await presence.release_dead_claims(IN_DOUBT)
    await stores.clock.advance(91)
    assert await ours.jobs.claim_next()
    await ours.inbox.accept(new_message("2.0", conversation=OTHER))
    waits = effect(await ours.claim(), "a", jobs=("models_the_visitor",))
    await ours.commits.commit(replace(waits, lulls={"models_the_visitor": 3_600_000}))
    await presence.release_dead_claims(IN_DOUBT)
    await stores.clock.advance(3500)
    found = await ours.jobs.claim_next()
    assert found is None or found.conversation != OTHER, "one that is to wait for an hour waits on"


async def test_who_renews_by_a_clock_that_is_far_ahead_keeps_its_claim(
    stores: Stores, other: OtherProcess, presence: Presence
) -> None:
    ahead = FakeClock(start_ms=stores.clock.now_ms() + YEAR_MS)
    ours, theirs = Stores.of(stores.database, stores.clock), Stores.of(stores.database, ahead, other.name)
    await ours.inbox.accept(new_message())
    claim = await theirs.claim()
    for _ in range(30):
        await presence.release_dead_claims(IN_DOUBT)
        await theirs.conversations.renew(claim)
        assert await ours.conversations.claim_next() is None
        await stores.clock.advance(10)


async def test_a_beat_of_a_clock_that_is_far_ahead_is_no_life(
    presence: Presence, path: Path, other: OtherProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    await presence.beat("connected", {})
    poke(path, "UPDATE presence SET id = ?, seen_ms = seen_ms + 30000", other.name)
    assert len(await presence.others()) == 1, "by so much clocks may differ"
    poke(path, "UPDATE presence SET seen_ms = seen_ms + ?", YEAR_MS)
    assert await presence.others() == ()
    monkeypatch.setattr(fcntl, "flock", without_locks)
    await presence.release_dead_claims(IN_DOUBT)
    assert look(path, "SELECT id FROM presence") == []


async def test_a_heartbeats_row_goes_at_a_stop_or_death_and_without_locks_in_a_day(
    stores: Stores, presence: Presence, other: OtherProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, clock = stores.path, stores.clock
    await presence.beat("connecting", {})
    await clock.advance(10)
    await presence.beat("connected", {"active": 2})
    rows = look(path, "SELECT pid, state, detail, seen_ms - started_ms FROM presence")
    assert rows == [(os.getpid(), "connected", '{"active": 2}', 10_000)]
    await presence.leave()
    assert look(path, "SELECT count(*) FROM presence") == [(0,)]
    await presence.beat("connected", {})
    poke(path, "UPDATE presence SET id = 'host/boot/namespace/7/99'")  # as an older program wrote it
    assert await presence.release_dead_claims(IN_DOUBT) == 1
    assert look(path, "SELECT count(*) FROM presence") == [(0,)]
    await presence.beat("connected", {})
    poke(path, "UPDATE presence SET id = ?", other.name)
    monkeypatch.setattr(fcntl, "flock", without_locks)
    other.die()
    await clock.advance(23 * 3600)
    await presence.beat("connected", {})
    await presence.release_dead_claims(IN_DOUBT)
    assert look(path, "SELECT count(*) FROM presence") == [(2,)]
    await clock.advance(3600 + 1)
    await presence.release_dead_claims(IN_DOUBT)
    assert look(path, "SELECT id FROM presence") == [(stores.database.processes.own,)]
