"""Dead daemons are distinguished from living ones, and their claims are released at once."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.core.bell_sockets import hang
from daemon.memory.consolidation.slots import NightSlots
from daemon.memory.database import Database
from daemon.memory.queues.presence import Presence, ProcessIdentity, _start_time, bells_beside
from daemon.memory.records import Worker
from tests.fakes import FakeClock
from tests.given import SOUL, TEAM, effect, new_message, thread
from tests.store.parts import Stores, look, poke

OTHER = thread("9.0")

IN_DOUBT = 5.0
YEAR_MS = 365 * 24 * 3600 * 1000
ROOT = Path(__file__).parents[2]


@contextmanager
def sleeper() -> Iterator[ProcessIdentity]:
    """A real process that sleeps until it is killed."""
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            yield replace(ProcessIdentity.current(), pid=child.pid, start=_start_time(child.pid) or "")
        finally:
            child.kill()


@pytest.fixture
def hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """/proc shows this process no others, as with ProtectProc=invisible."""
    proc, seen = tmp_path / "proc", Path("/proc")
    (proc / "sys/kernel/random").mkdir(parents=True)
    (proc / "sys/kernel/random/boot_id").write_text((seen / "sys/kernel/random/boot_id").read_text())
    (proc / "self").symlink_to(seen / "self")
    monkeypatch.setattr("daemon.memory.queues.presence._PROC", proc)


@pytest.fixture
def presence(database: Database, clock: FakeClock) -> Presence:
    return Presence(database, clock, soul=SOUL, workspace=TEAM, kind="test", version="0", lease=30)


def test_a_killed_process_is_dead_even_as_a_zombie() -> None:
    with sleeper() as identity:
        assert not identity.surely_dead()
        os.kill(identity.pid, signal.SIGKILL)
        os.waitid(os.P_PID, identity.pid, os.WEXITED | os.WNOWAIT)  # a zombie is gone although it is still listed
        assert identity.surely_dead()
    assert identity.surely_dead()


def test_an_identity_tells_a_later_process_and_an_earlier_boot_and_parses_its_own_text_and_older_ones() -> None:
    ours = ProcessIdentity.current()
    assert not ours.surely_dead()
    assert replace(ours, start="1").surely_dead()
    assert replace(ours, boot="an earlier one").surely_dead()
    assert not replace(ours, host="elsewhere", boot="x", pid=1, start="1").surely_dead()
    assert ours.namespace, "this system has namespaces"
    assert not replace(ours, namespace="4026530000", pid=1, start="1").surely_dead()
    assert not replace(ours, namespace="", pid=ours.pid, start="1").surely_dead()  # an older program wrote it
    assert ProcessIdentity.parse(str(ours)) == ours
    assert ProcessIdentity.parse("host/boot/7/99") == ProcessIdentity("host", "boot", "", 7, "99")
    with pytest.raises(ValueError, match="unpack"):
        ProcessIdentity.parse("worker-1")
    for pid in ("0", "-1", str(2**31), str(10**20)):
        with pytest.raises(ValueError, match="names no process"):
            ProcessIdentity.parse(f"host/boot/namespace/{pid}/1")


def test_a_process_that_proc_hides_counts_as_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    with sleeper() as identity:
        read = Path.read_text
        hidden = f"/proc/{identity.pid}/stat"

        def as_another_user(self: Path, encoding: str | None = None, errors: str | None = None) -> str:
            if str(self) == hidden:
                raise FileNotFoundError(hidden)  # as with ProtectProc=invisible
            return read(self, encoding, errors)

        monkeypatch.setattr(Path, "read_text", as_another_user)
        assert not identity.surely_dead()
    assert identity.surely_dead()


async def test_who_listens_at_its_bell_keeps_its_claims_though_proc_shows_another(
    database: Database, clock: FakeClock, path: Path, presence: Presence
) -> None:
    for identity in (replace(presence.identity, namespace="4026530000"), replace(presence.identity, start="1")):
        hung = hang(bells_beside(path), identity.bell)
        assert hung is not None
        theirs = Stores.of(database, clock, str(identity))
        await theirs.inbox.accept(new_message(str(float(len(identity.start)))))
        claim = await theirs.claim()
        assert await presence.release_dead_claims(IN_DOUBT) == 0
        await theirs.conversations.renew(claim)
        assert hung[1].exists()
        hung[0].close()
        assert await presence.release_dead_claims(IN_DOUBT) == 1
        assert not hung[1].exists()


async def test_a_bell_of_another_host_or_an_earlier_boot_proves_nothing(path: Path, presence: Presence) -> None:
    elsewhere = replace(presence.identity, host="elsewhere", boot="another")
    hung = hang(bells_beside(path), elsewhere.bell)
    assert hung is not None
    hung[0].close()
    assert not elsewhere.surely_dead(path)
    assert await presence.release_dead_claims(IN_DOUBT) == 0
    assert hung[1].exists()


async def test_where_no_process_can_be_seen_and_no_bell_hangs_the_lease_decides(
    database: Database, clock: FakeClock, path: Path, presence: Presence, hidden: None
) -> None:
    with sleeper() as identity:
        theirs = Stores.of(database, clock, str(identity))
        await theirs.inbox.accept(new_message())
        claim = await theirs.claim()
    assert not identity.surely_dead(path)
    assert not identity.in_sight
    assert await presence.release_dead_claims(IN_DOUBT) == 0
    await theirs.conversations.renew(claim)


async def test_the_claims_of_a_killed_daemon_are_released_at_once(
    database: Database, clock: FakeClock, path: Path, presence: Presence
) -> None:
    with sleeper() as identity:
        theirs, ours = Stores.of(database, clock, str(identity)), Stores.of(database, clock, str(presence.identity))
        await theirs.inbox.accept(new_message("1.0"))
        post = await theirs.commits.commit(effect(await theirs.claim(), "a", jobs=("summarizes",)))
        job = await theirs.jobs.claim_next()
        await theirs.inbox.accept(new_message("2.0", conversation=OTHER))
        claim = await theirs.claim()
        assert await presence.release_dead_claims(IN_DOUBT) == 0
        assert await ours.conversations.claim_next() is None
    assert await presence.release_dead_claims(IN_DOUBT) == 1
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


async def test_a_living_daemon_and_one_that_can_not_be_known_keep_their_claims(
    database: Database, clock: FakeClock, path: Path, presence: Presence
) -> None:
    with sleeper() as identity:
        for ts, name in (("1.0", str(identity)), ("2.0", "worker-1")):
            theirs = Stores.of(database, clock, name)
            await theirs.inbox.accept(new_message(ts, conversation=thread(ts)))
            claim = await theirs.claim()
            before = look(path, "SELECT * FROM conversations")
            assert await presence.release_dead_claims(IN_DOUBT) == 0
            assert look(path, "SELECT * FROM conversations") == before
            await theirs.conversations.renew(claim)


async def test_no_claim_of_a_clock_that_is_far_ahead_binds_for_ever(stores: Stores, presence: Presence) -> None:
    unseen, ahead = "elsewhere/b/n/1/1", FakeClock(start_ms=stores.clock.now_ms() + YEAR_MS)
    ours = Stores.of(stores.database, stores.clock, str(presence.identity))
    await ours.inbox.accept(new_message("1.0"))
    await ours.commits.commit(effect(await ours.claim(), "a", jobs=("summarizes",)))
    await ours.inbox.accept(new_message("2.0", conversation=OTHER))
    theirs = Stores.of(stores.database, ahead, unseen)
    await theirs.claim()
    assert await theirs.jobs.claim_next()
    assert await theirs.outbox.claim_next()
    poke(stores.path, "UPDATE outbox SET lease_until = lease_until + ? WHERE state = 'sending'", YEAR_MS)
    night = NightSlots(stores.database, ahead, Worker(unseen, SOUL, TEAM, 30_000))
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


async def test_no_job_of_a_clock_that_is_far_ahead_waits_for_ever(stores: Stores, presence: Presence) -> None:
    ours = Stores.of(stores.database, stores.clock)
    theirs = Stores.of(stores.database, FakeClock(start_ms=stores.clock.now_ms() + YEAR_MS), "elsewhere/b/n/1/1")
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


async def test_who_renews_by_a_clock_that_is_far_ahead_keeps_its_claim(stores: Stores, presence: Presence) -> None:
    ahead = FakeClock(start_ms=stores.clock.now_ms() + YEAR_MS)
    ours, theirs = Stores.of(stores.database, stores.clock), Stores.of(stores.database, ahead, "elsewhere/b/n/1/1")
    await ours.inbox.accept(new_message())
    claim = await theirs.claim()
    for _ in range(30):
        await presence.release_dead_claims(IN_DOUBT)
        await theirs.conversations.renew(claim)
        assert await ours.conversations.claim_next() is None
        await stores.clock.advance(10)


async def test_a_beat_of_a_clock_that_is_far_ahead_is_no_life(presence: Presence, path: Path, clock: FakeClock) -> None:
    await presence.beat("connected", {})
    poke(path, "UPDATE presence SET id = 'elsewhere/b/n/1/1', seen_ms = seen_ms + 30000")
    assert len(await presence.others()) == 1, "by so much clocks may differ"
    poke(path, "UPDATE presence SET seen_ms = seen_ms + ?", YEAR_MS)
    assert await presence.others() == ()
    await presence.release_dead_claims(IN_DOUBT)
    assert look(path, "SELECT id FROM presence") == []


async def test_a_heartbeats_row_goes_at_a_stop_or_in_a_day(presence: Presence, path: Path, clock: FakeClock) -> None:
    await presence.beat("connecting", {})
    await clock.advance(10)
    await presence.beat("connected", {"active": 2})
    rows = look(path, "SELECT pid, state, detail, seen_ms - started_ms FROM presence")
    assert rows == [(os.getpid(), "connected", '{"active": 2}', 10_000)]
    await presence.leave()
    assert look(path, "SELECT count(*) FROM presence") == [(0,)]
    await presence.beat("connected", {})
    poke(path, "UPDATE presence SET id = id || '0'")  # as if it had started at another time
    assert await presence.release_dead_claims(IN_DOUBT) == 1
    assert look(path, "SELECT count(*) FROM presence") == [(0,)]
    await presence.beat("connected", {})
    poke(path, "UPDATE presence SET id = 'elsewhere/b/n/1/1', host = 'elsewhere'")
    await clock.advance(23 * 3600)
    await presence.beat("connected", {})
    await presence.release_dead_claims(IN_DOUBT)
    assert look(path, "SELECT count(*) FROM presence") == [(2,)]
    await clock.advance(3600 + 1)
    await presence.release_dead_claims(IN_DOUBT)
    assert look(path, "SELECT id FROM presence") == [(str(presence.identity),)]
