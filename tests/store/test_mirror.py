"""The mirror holds what an export would write, after any harm: switched off, killed, full, something in the way."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from shutil import rmtree

import pytest
from msgspec.structs import replace

from daemon.core.ports.services import SystemClock
from daemon.memory.database import Database, Transaction, open_database
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.shared_files import SenseBytes
from daemon.memory.knowledge.turn_index import delete_turns
from daemon.memory.passport.exporting import export_passport
from daemon.memory.passport.mirror import Mirror
from daemon.memory.passport.verifying import verify_passport
from daemon.memory.people.forgetting import ForgettingPeople
from daemon.memory.people.residues import residues, texts_of
from daemon.memory.retrieval.keeper import LOCK
from tests.fakes import Events, FakeClock
from tests.store.beside import fill
from tests.store.passports import ANSWER, BEES, DAY, MADE, SAID, WHERE, bytes_in, remember

LOTS = 2**40
NAME = "passport"


class Kept:
    def __init__(self, database: Database, home: Path, folder: str, room: Callable[[Path], int]) -> None:
        self.events, self.root, self.room = Events(), home / (folder or NAME), room
        self._database = database
        clock = FakeClock(auto=True)
        self.task = asyncio.create_task(
            Mirror(database, home, folder, clock, self.events, room=lambda path: self.room(path)).run()  # noqa: PLW0108 - a test changes it
        )

    async def stop(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task

    async def same_as_an_export(self) -> None:
        """Wait until all that is stored is written, and nothing else."""
        exported = self.root.parent / "exported"
        await export_passport(self._database, exported, SenseBytes(self.root.parent))
        whole = bytes_in(exported)
        await self.events.when(lambda: _held(self.root) == whole)


def _held(root: Path) -> dict[str, bytes]:
    """The files of a mirror, which a daemon may be writing."""
    with suppress(FileNotFoundError):
        return {name: content for name, content in bytes_in(root).items() if name != LOCK}
    return {}


@asynccontextmanager
async def keeping(
    database: Database, home: Path, folder: str = NAME, *, room: Callable[[Path], int] = lambda _: LOTS
) -> AsyncIterator[Kept]:
    """A daemon that keeps the mirror."""
    kept = Kept(database, home, folder, room)
    try:
        if folder:
            await kept.events.when(lambda: bool({"mirror.written", "mirror.waits"} & set(kept.events.names)))
        yield kept
    finally:
        await kept.stop()


@pytest.fixture
async def filled(database: Database) -> Database:
    await database.write(lambda transaction: remember(transaction, [ANSWER], MADE))
    await database.run(
        "INSERT INTO working_memory VALUES (:id, 1, 'dm:D1', 'They spoke.', 1, :now)", id=str(WHERE), now=DAY
    )
    return database


async def _delete_what_was_said(database: Database) -> None:
    async def unit(transaction: Transaction) -> None:
        await delete_turns(transaction, str(WHERE), "1.0", DAY)
        assert await forget(transaction, ["TU_1"], DAY, "deleted")

    await database.write(unit)


async def _more(database: Database) -> None:
    second = replace(BEES, text="has a dog", object="dog")
    await database.write(lambda transaction: remember(transaction, [replace(ANSWER, body="More")], [second]))


async def test_all_is_mirrored_as_an_export_writes_it_for_its_owner_alone(filled: Database, tmp_path: Path) -> None:
    async with keeping(filled, tmp_path) as kept:
        await kept.same_as_an_export()
        assert len(bytes_in(kept.root / "memory")) == 7
        assert (await verify_passport(kept.root, FakeClock(auto=True))).chain is True
        modes = {path.stat().st_mode & 0o777 for path in kept.root.rglob("*") if path.is_file()}
        folders = {path.stat().st_mode & 0o777 for path in (kept.root, *kept.root.rglob("*")) if path.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})


async def _reword(database: Database) -> None:
    await database.run("UPDATE records SET text = 'They met', at_ms = 0 WHERE kind = 'episode'")
    await database.run("UPDATE working_memory SET summary = 'Less.'")
    await database.run("UPDATE conversations SET place = 'group_dm'")


async def _unlink(database: Database) -> None:
    await database.run("DELETE FROM links")


async def test_what_changes_is_written_and_at_the_start_what_changed_before(filled: Database, tmp_path: Path) -> None:
    async with keeping(filled, tmp_path) as kept:
        for change in (_more, _reword):
            await change(filled)
            await kept.same_as_an_export()
    for change in (_more, _reword, _delete_what_was_said, _unlink):
        await change(filled)
        async with keeping(filled, tmp_path) as kept:
            await kept.same_as_an_export()


async def test_harmed_missing_or_foreign_files_are_mended_at_the_start(filled: Database, tmp_path: Path) -> None:
    async with keeping(filled, tmp_path) as kept:
        pass
    first, second, *_ = sorted((kept.root / "memory").rglob("*.json"))
    first.write_text("harmed")
    second.unlink()
    (first.parent / "EP_20200101_001.json").write_text("{}")
    (first.parent / f".{first.name}.ab12").write_text("half a file of a killed daemon")
    async with keeping(filled, tmp_path) as kept:
        await kept.same_as_an_export()
        assert kept.events.named("mirror.written") == [{"files": 2, "removed": 2, "skipped": 0}]


async def test_a_restored_backup_from_before_is_written(filled: Database, tmp_path: Path) -> None:
    await filled.copy_to(tmp_path / "before.db")
    await _more(filled)
    async with keeping(filled, tmp_path):
        pass
    async with open_database(tmp_path / "before.db", FakeClock(auto=True)) as before, keeping(before, tmp_path) as kept:
        await kept.same_as_an_export()


@pytest.mark.parametrize("kept_by_a_daemon", [True, False])
async def test_once_a_person_is_forgotten_no_mirror_holds_a_word_of_theirs(
    filled: Database, tmp_path: Path, *, kept_by_a_daemon: bool
) -> None:
    texts = await texts_of(filled, "T1", "U1")
    people = ForgettingPeople(filled, SystemClock(), Events(), tmp_path, tmp_path / "index")
    async with keeping(filled, tmp_path) as kept:
        assert [name for name, content in _held(kept.root).items() if SAID.encode() in content]
        if not kept_by_a_daemon:
            await kept.stop()
        await people.finish(await people.ask("T1", "U1"))
        assert [name for name, content in _held(kept.root).items() if SAID.encode() in content] == []
        assert await residues(filled, tmp_path, "T1", "U1", texts) == 0
        assert kept_by_a_daemon or not kept.root.exists()
    async with keeping(filled, tmp_path) as kept:
        await kept.same_as_an_export()
        assert [name for name, content in _held(kept.root).items() if SAID.encode() in content] == []


async def test_one_that_is_not_set_any_more_is_deleted_and_nothing_else_in_its_folder(
    filled: Database, tmp_path: Path
) -> None:
    async with keeping(filled, tmp_path) as kept:
        pass
    async with keeping(filled, tmp_path, "elsewhere") as moved:
        await moved.same_as_an_export()
    assert not kept.root.exists()
    (moved.root / "mine.txt").write_text("put there by the admin")
    async with keeping(filled, tmp_path, ""):
        while len(list(moved.root.iterdir())) > 1:  # noqa: ASYNC110 - a folder has no events
            await asyncio.sleep(0.005)
    assert (moved.root / "mine.txt").read_text() == "put there by the admin"
    assert (tmp_path / "exported").exists(), "an export is no mirror"


async def test_a_folder_that_is_taken_away_is_written_anew(filled: Database, tmp_path: Path) -> None:
    async with keeping(filled, tmp_path) as kept:
        rmtree(kept.root)
        await kept.same_as_an_export()


async def test_a_full_disk_pauses_it_and_it_goes_on_by_itself(filled: Database, tmp_path: Path) -> None:
    async with keeping(filled, tmp_path, room=lambda _: 0) as kept:
        event = await kept.events.until("mirror.waits")
        assert event["reason"] == "the disk is nearly full"
        assert bytes_in(kept.root / "memory") == {}
        kept.room = lambda _: LOTS
        await kept.events.until("mirror.go_on")
        await kept.same_as_an_export()
        assert len(kept.events.named("mirror.waits")) == 1


async def test_an_unwritable_folder_is_reported_once_and_it_goes_on_later(filled: Database, tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("a file in its way")
    async with keeping(filled, tmp_path) as kept:
        event = await kept.events.until("mirror.waits")
        for _ in range(20):
            await asyncio.sleep(0)
        assert "is no plain folder" in str(event["reason"])
        (tmp_path / NAME).unlink()
        await kept.events.until("mirror.written")
        await kept.same_as_an_export()
        assert len(kept.events.named("mirror.waits")) == 1


async def test_no_link_in_the_way_is_followed_and_no_folder_of_others_used(filled: Database, tmp_path: Path) -> None:
    for name in ("outside", NAME, "taken"):
        (tmp_path / name).mkdir()
    (tmp_path / NAME / "memory").symlink_to(tmp_path / "outside")
    (tmp_path / "taken" / "passport.json").write_text("an earlier export")
    for folder, reason in ((NAME, "is a link"), ("taken", "holds other files (passport.json)")):
        async with keeping(filled, tmp_path, folder) as kept:
            event = await kept.events.until("mirror.waits")
        assert reason in str(event["reason"])
    assert list((tmp_path / "outside").iterdir()) == []
    assert list(bytes_in(tmp_path / "taken")) == ["passport.json"]


async def test_a_hostile_id_becomes_no_path_and_keeps_no_other_from_the_files(filled: Database, tmp_path: Path) -> None:
    hostile = ("../../../escaped", "EP_1/../../x", "/etc/x", "EP_\x00", "x")
    await filled.run("PRAGMA foreign_keys = OFF")
    for name in hostile:
        await filled.run(
            """
            INSERT INTO records (id, kind, soul, workspace, audience, channel, trust, significance, text, at_ms,
                                 created_ms, updated_ms)
            VALUES (:id, 'episode', 'minoan', 'T1', 'dm:D1', 'D1', 'inferred', 5, 'x', 9, 9, 9)
            """,
            id=name,
        )
        await filled.run("INSERT INTO episodes (id, state) VALUES (:id, 'closed')", id=name)
    async with keeping(filled, tmp_path) as kept:
        assert kept.events.named("mirror.written")[0]["skipped"] == len(hostile)
        assert len(bytes_in(kept.root / "memory")) == 7
    assert [path for path in bytes_in(tmp_path) if not path.startswith((f"{NAME}/", "memory.db", "index/"))] == []


async def test_one_daemon_keeps_it_and_the_next_takes_over(filled: Database, tmp_path: Path) -> None:
    async with keeping(filled, tmp_path) as first:
        second = Kept(filled, tmp_path, NAME, lambda _: LOTS)
        for _ in range(50):
            await asyncio.sleep(0)
        assert second.events.names == []
        await _more(filled)
        await first.stop()
        await second.events.until("mirror.written")
        await second.same_as_an_export()
        await second.stop()


async def test_plans_states_and_pictures_are_mirrored(database: Database, tmp_path: Path) -> None:
    await fill(database, FakeClock(auto=True), tmp_path)
    async with keeping(database, tmp_path) as kept:
        await kept.same_as_an_export()
        assert len(bytes_in(kept.root / "memory")) == 15
        for change in (
            "UPDATE intentions SET state = 'cancelled' WHERE cue <> ''",
            "DELETE FROM intentions WHERE every <> ''",
            "UPDATE soul_state SET emotional_state = 'glad'",
            "UPDATE user_models SET whispers = ''",
            "DELETE FROM standing_questions",
            "UPDATE senses SET raw_data_ref = ''",
        ):
            await database.run(change)
            await kept.same_as_an_export()
