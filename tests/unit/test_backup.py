"""Copies of memory.db are complete, checked, private, made in time and rotated; a restore puts one back."""

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, nullcontext, suppress
from itertools import count, pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from daemon.core.concurrency import alongside
from daemon.core.errors import SchemaMismatch, StoreError
from daemon.core.ports.services import SystemClock
from daemon.memory.admin.restore import restore
from daemon.memory.database import Database, Transaction, Unit, open_database, schema, sqlite
from daemon.memory.database.backup import BackupSchedule, back_up, verify
from daemon.memory.database.copies import CopyRoom, folder_beside, made_at, name_at, newest_copy, pause_ms, rotate
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.queues.conversations import Conversations
from daemon.memory.queues.outbox import Outbox
from daemon.memory.queues.presence import Presence
from daemon.memory.records import Worker
from tests.cli.stocked import NOW, add_daemon, dead_identity, filled, one, opened, post_in, stock
from tests.fakes import Events, FakeClock, TurnableClock
from tests.processes import without_locks

CLOCK = SystemClock()
HOUR = 3_600_000
DAY = 24 * HOUR
WIDE = CopyRoom(disk=10**12, free=10**12, file=1, most=10**11)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return stock(tmp_path / "memory.db")


def in_wal_mode(path: Path) -> Path:
    with opened(path) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    return path


def in_rollback_mode(path: Path) -> Path:
    with opened(path) as connection:
        connection.execute("PRAGMA journal_mode=TRUNCATE")
    return path


def leftovers(folder: Path) -> list[str]:
    return sorted(found.name for found in folder.iterdir() if found.name.startswith("."))


def test_a_copy_holds_everything_in_one_private_file_and_one_that_fails_leaves_nothing(
    path: Path, tmp_path: Path
) -> None:
    for in_mode in (in_rollback_mode, in_wal_mode):
        target = tmp_path / in_mode.__name__
        target.mkdir()
        made = back_up(in_mode(path), target, CLOCK)
        assert made.path.parent == target
        assert made_at(made.path.name) is not None
        assert [found.name for found in target.iterdir()] == [made.path.name]
        assert made.path.stat().st_mode & 0o777 == 0o600
        assert made.bytes == made.path.stat().st_size
        assert one(made.path, "SELECT count(*) FROM inbox") == 8
        with closing(sqlite3.connect(made.path)) as plain:
            assert plain.execute("PRAGMA journal_mode").fetchone()[0] == "delete"
    with pytest.raises(StoreError, match="not finished"):
        back_up(path, tmp_path / "copy.db", CLOCK, stopped=lambda: True)
    damage(path)
    with pytest.raises(StoreError, match="damaged"):
        back_up(path, tmp_path / "copy.db", CLOCK)
    assert [found.name for found in tmp_path.iterdir() if "copy" in found.name] == []
    assert leftovers(tmp_path) == []


def test_a_copy_rolls_back_the_journal_of_a_killed_process(path: Path, tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from daemon.memory.database import sqlite\n"
        "c = sqlite.connect(Path(sys.argv[1])); c.execute('PRAGMA cache_size=2'); c.execute('BEGIN IMMEDIATE')\n"
        "c.executemany(\"INSERT INTO audit (actor, act, object, detail, done_ms) VALUES ('a', 'half', 'c', ?, 1)\","
        " [('x' * 500,)] * 3000)\n"
        "os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == -signal.SIGKILL
    made = back_up(path, tmp_path / "copy.db", CLOCK)
    assert one(made.path, "SELECT count(*) FROM audit WHERE act = 'half'") == 0


def test_a_kill_during_a_copy_leaves_nothing_under_its_name(path: Path, tmp_path: Path) -> None:
    filled(path, 8000)
    target = tmp_path / "copies"
    target.mkdir()
    code = (
        "import os, sys; from pathlib import Path; from daemon.core.ports.services import SystemClock\n"
        "from daemon.memory.database.backup import back_up\n"
        "back_up(Path(sys.argv[1]), Path(sys.argv[2]), SystemClock(), stopped=lambda: os.kill(os.getpid(), 9))"
    )
    killed = subprocess.run([sys.executable, "-c", code, path, target], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [found for found in target.iterdir() if made_at(found.name) is not None] == []
    (left,) = leftovers(target)[:1]
    rotate(target, CLOCK.now_ms(), WIDE)
    assert leftovers(target)  # it may belong to a copy under way
    for name in leftovers(target):
        os.utime(target / name, (1, 1))
    assert left in {found.name for found in rotate(target, CLOCK.now_ms(), WIDE)}
    assert leftovers(target) == []


@pytest.mark.parametrize(("jumps", "whole"), [(1, True), (20, False)])
def test_a_clock_that_is_moved_once_ends_no_copy_but_slowness_does(
    path: Path, tmp_path: Path, jumps: int, *, whole: bool
) -> None:
    clock, looks = TurnableClock(), count()

    def move_the_clock() -> bool:
        clock.turn(86_400.0 if next(looks) < jumps else 0.0)
        return False

    with nullcontext() if whole else pytest.raises(StoreError, match="not finished"):
        back_up(filled(path, 12_000), tmp_path / "copy.db", clock, stopped=move_the_clock)
    assert (tmp_path / "copy.db").exists() is whole


def test_a_file_that_changes_at_every_step_is_copied_in_one_step(path: Path, tmp_path: Path) -> None:
    in_rollback_mode(filled(path, 5000))
    with opened(path) as writer:

        def write_between_steps() -> bool:
            with suppress(sqlite3.OperationalError):  # the copy in one step holds its lock
                writer.execute("INSERT INTO audit (actor, act, object, done_ms) VALUES ('a', 'between', 'c', 1)")
            return False

        made = back_up(path, tmp_path / "copy.db", CLOCK, stopped=write_between_steps)
    assert verify(made.path).schema == schema.SCHEMA
    assert one(made.path, "SELECT count(*) FROM audit WHERE act = 'between'") in range(1, 60)


def test_a_copy_never_replaces_a_file_and_needs_a_source_without_a_broken_row(path: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="exists already"):
        back_up(path, path, CLOCK)
    with pytest.raises(StoreError, match="there is no"):
        back_up(tmp_path / "absent.db", tmp_path / "copy.db", CLOCK)
    with pytest.raises(StoreError, match="can't be written"):
        back_up(path, tmp_path / "no such folder" / "copy.db", CLOCK)
    with opened(path) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute("DELETE FROM conversations")
    with pytest.raises(StoreError, match="conversations that is missing"):
        back_up(path, tmp_path / "copy.db", CLOCK)


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for page in range(2, len(content) // 4096):
        content[page * 4096 : page * 4096 + 64] = b"\xa5" * 64
    path.write_bytes(bytes(content))


def test_a_file_that_is_no_copy_is_refused_with_the_reason_and_the_name_of_a_copy_holds_its_time(
    tmp_path: Path,
) -> None:
    strange = tmp_path / "strange.db"
    for content, said in ((b"not a database at all" * 100, "damaged"), (b"", "empty")):
        strange.write_bytes(content)
        with pytest.raises(StoreError, match=said):
            verify(strange)
    assert name_at(1_769_847_300_250) == "memory-20260131T081500.250Z.db"
    assert made_at("memory-20260131T081500.250Z.db") == 1_769_847_300_250
    assert made_at("memory.db") is None
    assert made_at("memory-20261399T081500.250Z.db") is None


@pytest.fixture
def copy(path: Path, tmp_path: Path) -> Path:
    return back_up(path, tmp_path / "backup.db", CLOCK).path


def test_a_restore_brings_back_the_copy_keeps_the_former_file_and_is_refused_while_a_daemon_may_live(
    path: Path, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path) as connection:
        connection.execute("DELETE FROM turns")
    done = restore(copy, path, CLOCK, actor="ada")
    assert one(path, "SELECT body FROM turns") == "hello"
    assert done.replaced is not None
    assert one(done.replaced, "SELECT count(*) FROM turns") == 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert one(path, "SELECT actor FROM audit WHERE act = 'db.restore'") == "ada"
    assert leftovers(path.parent) == []
    elsewhere = path.parent / "new" / "memory.db"
    assert restore(copy, elsewhere, CLOCK, actor="ada").replaced is None, "no file was there"
    assert one(elsewhere, "SELECT count(*) FROM outbox") == 8
    with pytest.raises(StoreError, match="live file itself"):
        restore(path, path, CLOCK, actor="ada")
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="can't be replaced"):
        restore(copy, tmp_path / "file" / "memory.db", CLOCK, actor="ada")
    add_daemon(path, identity=dead_identity())
    assert restore(copy, path, CLOCK, actor="ada").replaced is not None
    assert one(path, "SELECT count(*) FROM presence") == 0
    add_daemon(path)
    with pytest.raises(StoreError, match="process 42") as raised:
        restore(copy, path, CLOCK, actor="ada")
    assert "--force" in raised.value.hint
    assert restore(copy, path, CLOCK, actor="ada", force=True).replaced is not None
    monkeypatch.setattr(fcntl, "flock", without_locks)
    add_daemon(path, seen_ms=CLOCK.now_ms() - 23 * 3_600_000)
    with pytest.raises(StoreError, match="process 42"):
        restore(copy, path, CLOCK, actor="ada")
    with opened(path) as connection:
        connection.execute("UPDATE presence SET seen_ms = seen_ms - 3600001")
    assert restore(copy, path, CLOCK, actor="ada").replaced is not None
    monkeypatch.setattr(sqlite, "wal_is_safe", lambda: True)
    restore(copy, path, CLOCK, actor="ada")
    with opened(path) as connection:
        assert sqlite.journal_mode(connection) == "wal"


async def test_work_that_waited_in_the_copy_is_not_done_twice(path: Path, copy: Path) -> None:
    with opened(path) as connection:
        connection.execute("INSERT INTO watermarks VALUES ('minoan', 'T1', '5.5', 1)")
    assert restore(copy, path, CLOCK, actor="ada").waiting == 2
    assert one(path, "SELECT count(*) FROM inbox WHERE state IN ('new', 'claimed')") == 0
    assert one(path, "SELECT count(*) FROM inbox WHERE reason = 'restored from a backup'") == 2
    assert one(path, "SELECT state FROM outbox WHERE id = ?", post_in("drafting")) == "dropped"
    assert one(path, "SELECT count(*) FROM watermarks") == 0
    worker = Worker("here/boot/1/1", "minoan", "T1", 30_000)
    async with open_database(path, CLOCK, create=False) as database:
        delivery = await Outbox(database, CLOCK, worker).claim_next()
        assert delivery is not None
        assert delivery.doubtful
        assert await Conversations(database, CLOCK, worker).claim_next() is None


def test_a_former_file_in_wal_mode_is_kept_complete(path: Path, copy: Path) -> None:
    in_wal_mode(path)
    with opened(path) as holder:  # keeps the write-ahead log in place
        holder.execute("INSERT INTO audit (actor, act, object, done_ms) VALUES ('a', 'late', 'c', 1)")
        done = restore(copy, path, CLOCK, actor="ada", force=True)
    assert done.replaced is not None
    assert one(done.replaced, "SELECT count(*) FROM audit WHERE act = 'late'") == 1
    assert one(path, "SELECT count(*) FROM audit WHERE act = 'late'") == 0


def test_a_file_too_damaged_to_read_presence_is_replaced_only_with_force(path: Path, copy: Path) -> None:
    path.write_bytes(b"garbage, no database" * 1000)
    with pytest.raises(StoreError, match="whether a daemon is alive"):
        restore(copy, path, CLOCK, actor="ada")
    done = restore(copy, path, CLOCK, actor="ada", force=True)
    assert done.replaced is not None
    assert done.replaced.read_bytes().startswith(b"garbage")
    assert one(path, "SELECT count(*) FROM turns") == 1


def test_a_bad_copy_changes_nothing(path: Path, copy: Path) -> None:
    def with_pragma(pragma: str) -> None:
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute(f"PRAGMA {pragma}")

    before = path.stat().st_ino
    spoils: tuple[tuple[Callable[[], object], type[StoreError]], ...] = (
        (lambda: with_pragma("user_version=99"), SchemaMismatch),
        (lambda: with_pragma("application_id=7"), SchemaMismatch),
        (lambda: damage(copy), StoreError),
        (copy.unlink, StoreError),
    )
    for spoil, error in spoils:
        spoil()
        with pytest.raises(error) as raised:
            restore(copy, path, CLOCK, actor="ada")
        assert raised.value.hint
        assert path.stat().st_ino == before
        assert [found.name for found in path.parent.iterdir() if "replaced" in found.name] == []


@pytest.fixture
def opens() -> Iterator[list[str]]:
    seen: list[str] = []
    watching = [True]

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event == "open" and isinstance(arguments[0], str):
            seen.append(arguments[0])

    sys.addaudithook(audit)
    yield seen
    watching.clear()


def test_only_sqlite_opens_live_files(path: Path, copy: Path, opens: list[str]) -> None:
    path.read_bytes()  # the watch is not blind
    assert str(path) in opens
    opens.clear()
    with opened(path):
        back_up(path, path.parent / "another.db", CLOCK)
        restore(copy, path, CLOCK, actor="ada", force=True)
    live = {str(path) + suffix for suffix in ("", "-journal", "-wal", "-shm")}
    assert live.isdisjoint(opens)


def test_rotation_keeps_quarters_for_hours_hours_for_a_day_and_days_for_two_weeks(tmp_path: Path) -> None:
    now = 1_769_860_800_000  # noon
    for quarter in range(20 * 96):
        (tmp_path / name_at(now - quarter * 15 * 60_000)).touch()
        (tmp_path / name_at(now - quarter * 15 * 60_000 - 60_000)).touch()
    foreign = [tmp_path / "memory.db", tmp_path / "mine.db", tmp_path / "memory-replaced-x.db"]
    for file in foreign:
        file.touch()
    gone = rotate(tmp_path, now, WIDE)
    kept = sorted((moment for found in tmp_path.iterdir() if (moment := made_at(found.name))), reverse=True)
    assert all(file.exists() for file in foreign)
    assert kept[0] == now
    assert len([moment for moment in kept if moment >= now - 3 * HOUR]) in {12, 13, 14}
    assert len([moment for moment in kept if now - 3 * HOUR > moment >= now - DAY]) in range(20, 23)
    assert len({moment // DAY for moment in kept}) == 14
    assert len([moment for moment in kept if moment < now - 2 * DAY]) == 11
    assert len(gone) + len(kept) == 2 * 20 * 96
    assert rotate(tmp_path, now, WIDE) == ()


def test_old_copies_stay_without_newer_ones_and_a_copy_of_the_future_or_a_large_file_changes_when_the_next_is_due(
    tmp_path: Path,
) -> None:
    for days in range(3):
        (tmp_path / name_at(NOW - 400 * DAY - days * DAY)).touch()
    assert rotate(tmp_path, NOW, WIDE) == ()
    for moment in (NOW - HOUR, NOW + DAY):
        copy = tmp_path / name_at(moment)
        copy.touch()
        os.utime(copy, (0, 0))
    assert newest_copy(tmp_path, NOW) == NOW - HOUR
    assert pause_ms(100 * 2**20) == 15 * 60_000
    assert pause_ms(5 * 10**9) == 10_000 * 1000


def test_as_many_copies_stay_as_fit_the_fewer_the_further_apart(tmp_path: Path) -> None:
    for quarter in range(14 * 96):
        (tmp_path / name_at(NOW - quarter * 15 * 60_000)).write_bytes(b"x" * 10)
    for fit in (12, 5, 2, 1):
        rotate(tmp_path, NOW, CopyRoom(disk=1000, free=10**6, file=10, most=fit * 10))
        ages = sorted(NOW - moment for found in tmp_path.iterdir() if (moment := made_at(found.name)))
        assert len(ages) == fit
        assert ages[0] == 0
        if fit > 2:
            assert ages[-1] > 7 * DAY
            gaps = [after - before for before, after in pairwise(ages)]
            assert gaps[-1] > gaps[0]


def test_copies_give_way_when_the_disk_fills_but_never_the_newest(tmp_path: Path) -> None:
    for hour in range(6):
        (tmp_path / name_at(NOW - hour * HOUR)).write_bytes(b"x" * 100)
    assert len(rotate(tmp_path, NOW, CopyRoom(disk=10_000, free=50, file=100, most=5000))) == 2  # 250 are free again
    assert len(rotate(tmp_path, NOW, CopyRoom(disk=10_000, free=0, file=100_000, most=5000))) == 3
    assert [found.name for found in tmp_path.iterdir()] == [name_at(NOW)]


@asynccontextmanager
async def schedule(
    path: Path, clock: FakeClock, events: Events, *, share: float = 0.9
) -> AsyncIterator[tuple[Database, BackupSchedule]]:
    async with open_database(path, clock) as database:
        made = BackupSchedule(database, folder_beside(path), clock, events, share=share, turn=lambda: nullcontext(0.0))
        async with alongside(made.run()):
            yield database, made


def note(number: int) -> Unit[None]:
    async def unit(transaction: Transaction) -> None:
        await transaction.run(
            "INSERT INTO audit (actor, act, object, done_ms) VALUES ('a', 'noted', :n, 1)", n=str(number)
        )

    return unit


async def test_a_copy_is_made_every_quarter_of_an_hour(path: Path) -> None:
    clock, events = FakeClock(start_ms=NOW), Events()
    folder = folder_beside(path)
    async with schedule(path, clock, events) as (database, _):
        for number in range(1, 4):
            await events.until("backup.made", number)
            assert len(list(folder.iterdir())) == number
            await database.write(note(number))
            await clock.sleepers()
            await clock.advance(15 * 60)
        await events.until("backup.made", 4)
    assert events.names == ["backup.made"] * 4
    assert folder.stat().st_mode & 0o777 == 0o700


async def test_nothing_is_copied_while_nothing_lasting_is_stored(path: Path) -> None:
    clock, events = FakeClock(start_ms=NOW), Events()
    folder = folder_beside(path)
    async with schedule(path, clock, events) as (database, _):
        presence = Presence(database, clock, soul="s", workspace="T", kind="slack", version="1", lease=30)
        await events.until("backup.made")
        for _ in range(8):
            await presence.beat("connected", {})
            await clock.sleepers()
            await clock.advance(15 * 60)
        await clock.sleepers()
        assert len(list(folder.iterdir())) == 1
        assert newest_copy(folder, clock.now_ms()) == NOW + 8 * 15 * 60_000  # it is as good as one of now
        await database.write(note(1))
        await clock.advance(15 * 60)
        await events.until("backup.made", 2)
        with opened(path) as other:  # as another process does
            other.execute("INSERT INTO audit (actor, act, object, done_ms) VALUES ('a', 'b', 'c', 1)")
        await clock.sleepers()
        await clock.advance(15 * 60)
        await events.until("backup.made", 3)


async def test_a_failed_copy_is_logged_and_tried_again_after_a_minute(path: Path) -> None:
    clock, events = FakeClock(start_ms=NOW), Events()
    folder = folder_beside(path)
    folder.write_text("a file where the folder should be")
    async with schedule(path, clock, events):
        await events.until("backup.failed")
        folder.unlink()
        await clock.sleepers()
        await clock.advance(60)
        await events.until("backup.made")
    assert events.names == ["backup.failed", "backup.made"]
    assert events.named("backup.failed")[0]["hint"]


class Usage(NamedTuple):
    total: int
    used: int
    free: int


class FillingDisk:
    """A disk of sixty times the file, on which the folder of copies and `others` take room."""

    def __init__(self, folder: Path, path: Path) -> None:
        self.total, self.others = 60 * path.stat().st_size, 0
        self._folder, self._path = folder, path

    def usage(self, _where: Path) -> Usage:
        taken = self.others + self.copies + self._path.stat().st_size
        return Usage(self.total, taken, max(0, self.total - taken))

    @property
    def copies(self) -> int:
        return sum(found.stat().st_size for found in self._folder.iterdir())


async def test_copies_keep_within_their_share_for_weeks_and_heal_after_a_full_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, events = FakeClock(start_ms=NOW), Events()
    folder = folder_beside(path)
    folder.mkdir()
    disk = FillingDisk(folder, path)
    monkeypatch.setattr("daemon.memory.database.copies.shutil.disk_usage", disk.usage)
    made = 0
    async with schedule(path, clock, events, share=0.1) as (database, _):
        for number in range(20):
            made += 1
            await events.until("backup.made", made)
            assert disk.copies <= 0.1 * disk.total
            await database.write(note(number))
            await clock.sleepers()
            await clock.advance(18 * 3600)
        while not events.named("backup.failed"):  # another program takes what becomes free
            disk.others += disk.usage(folder).free
            await database.write(note(200))
            await clock.sleepers()
            await clock.advance(9 * 3600)
            await clock.sleepers()
        assert len(list(folder.iterdir())) == 1  # what could go has gone, for the daemon's own sake
        made, disk.others = len(events.named("backup.made")), 0
        await clock.advance(60)
        await events.until("backup.made", made + 1)
    assert "no room" in str(events.named("backup.failed")[-1]["reason"])


@pytest.mark.parametrize("journal", ["TRUNCATE", "WAL"])
async def test_the_daemon_copies_a_file_that_it_writes_to_all_the_time(path: Path, journal: str) -> None:
    """With a rollback journal any other connection's write starts a copy over, that of its own connection does not."""
    filled(path, 40_000)
    with opened(path) as connection:
        connection.execute(f"PRAGMA journal_mode={journal}")
    wrote, enough = 0, asyncio.Event()

    async with open_database(path, CLOCK, create=False) as database, asyncio.TaskGroup() as group:

        async def write() -> None:
            nonlocal wrote
            while not enough.is_set():
                await database.write(note(wrote))
                wrote += 1

        writing = group.create_task(write())
        before = wrote
        await database.copy_to(path.with_name("copy.db"))
        kept = one(path.with_name("copy.db"), "SELECT count(*) FROM audit WHERE act = 'noted'")
        enough.set()
        await writing
    assert wrote > before + 10
    assert isinstance(kept, int)
    assert before <= kept <= wrote
    assert verify(path.with_name("copy.db")).schema == schema.SCHEMA


async def test_a_cancelled_copy_of_the_daemon_ends_at_once(path: Path) -> None:
    filled(path, 40_000)
    async with open_database(path, CLOCK, create=False) as database:
        target = path.with_name("copy.db")
        asked = threading.Event()

        def stopped() -> bool:
            asked.set()
            return False

        copying = asyncio.ensure_future(database.copy_to(target, stopped))
        await asyncio.to_thread(asked.wait, 60)
        copying.cancel()
        await asyncio.wait([copying])
        await database.write(note(1))


async def test_the_first_daemon_makes_the_copy(path: Path) -> None:
    clock, events = FakeClock(start_ms=NOW), Events()
    folder = folder_beside(path)
    folder.mkdir()
    (folder / name_at(NOW - 60_000)).touch()
    async with schedule(path, clock, events):
        await clock.sleepers()
        (folder / name_at(NOW + 13 * 60_000)).touch()  # another daemon's
        await clock.advance(14 * 60)
        await clock.sleepers()
    assert events.names == []
    assert clock.slept[:2] == [14 * 60, 14 * 60]
