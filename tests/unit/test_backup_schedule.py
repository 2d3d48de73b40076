"""The schedule of copies: how often, how many stay, and that a busy, full or idle daemon keeps the promise."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from daemon.core.clock import SystemClock
from daemon.core.concurrency import alongside
from daemon.memory.database import Database, Transaction, Unit, migrate, open_database
from daemon.memory.database.backup import BackupSchedule, verify
from daemon.memory.database.copies import CopyRoom, folder_beside, made_at, name_at, newest_copy, pause_ms, rotate
from daemon.memory.queues.presence import Presence
from tests.cli.stocked import NOW, filled, one, opened, stock
from tests.fakes import Events, FakeClock

CLOCK = SystemClock()
HOUR = 3_600_000
DAY = 24 * HOUR


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return stock(tmp_path / "memory.db")


WIDE = CopyRoom(disk=10**12, free=10**12, file=1, most=10**11)


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
    assert verify(path.with_name("copy.db")).schema == migrate.SCHEMA


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
