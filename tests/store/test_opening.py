"""Which files open, which are refused, and which text stays in them."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from daemon.core.concurrency import alongside
from daemon.core.errors import SchemaMismatch, StoreBusy, StoreDamaged, StoreError, StoreFull
from daemon.core.ports.services import SystemClock
from daemon.core.systemd import ExitCode, exit_code
from daemon.memory.database import log_size, open_database, schema, sqlite
from daemon.memory.database.log_size import keep_log_small
from daemon.memory.database.sqlite import sqlite3
from tests.fakes import TIMEOUT, Events, FakeClock
from tests.store.parts import acts, content, files, look, make_wal, note, overwrite, poke

CANARY = "canary-" * 40


async def refused(path: Path, kind: type[StoreError], match: str, *, create: bool = True) -> StoreError:
    with pytest.raises(kind, match=match) as raised:
        async with open_database(path, SystemClock(), create=create):
            pass
    return raised.value


async def test_a_file_of_another_program_is_refused_and_unchanged(path: Path) -> None:
    poke(path, "CREATE TABLE theirs (it TEXT)")
    before = content(path)
    await refused(path, SchemaMismatch, "another program")
    assert content(path) == before


async def test_a_newer_file_is_refused_and_one_from_before_the_first_step_with_advice(path: Path) -> None:
    await refused(path, SchemaMismatch, "needs", create=False)
    assert files(path.parent) == []
    schema.migrate(path)
    for version, hint in (
        (schema.SCHEMA + 1, "update the program"),
        *((version, "soul memory passport export DIR` with the program that made it") for version in (1, 16)),
    ):
        poke(path, f"PRAGMA user_version={version}")
        before = content(path)
        for create in (True, False):
            error = await refused(path, SchemaMismatch, f"has schema {version}", create=create)
            assert hint in error.hint
        assert content(path) == before
        assert [one.name for one in files(path.parent) if one.is_dir()] == []


def damage_a_page(path: Path) -> None:
    schema.migrate(path)
    root = look(path, "SELECT rootpage FROM sqlite_schema WHERE name = 'audit'")[0][0]
    assert isinstance(root, int)
    damaged = bytearray(content(path))
    damaged[(root - 1) * 4096 : root * 4096] = b"\xff" * 4096
    overwrite(path, damaged)


def test_all_that_make_a_file_at_the_same_moment_get_the_same_journal(tmp_path: Path) -> None:
    """SQLite refuses, without any wait, some of those that turn on a write-ahead log at once."""
    start = threading.Barrier(4)

    def mode(path: Path) -> str:
        start.wait(TIMEOUT)
        with closing(sqlite.connect(path)) as connection:
            return sqlite.journal_mode(connection)

    wanted = "wal" if sqlite.wal_is_safe() else "truncate"
    with ThreadPoolExecutor(start.parties) as pool:
        for number in range(20):
            path = tmp_path / f"{number}.db"
            assert list(pool.map(mode, [path] * start.parties)) == [wanted] * start.parties


def test_the_look_finds_damage_in_small_and_in_large_files(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def faults() -> list[str]:
        with closing(sqlite.connect(path)) as connection:
            try:  # a version of SQLite lists the damage that another one fails at
                return list(sqlite.look_over(connection))
            except sqlite3.DatabaseError as error:
                return [translated.message] if isinstance(translated := sqlite.translate(error), StoreDamaged) else []

    schema.migrate(path)
    whole = sqlite._CHECKED_WHOLE
    for damaged in (False, True):
        if damaged:
            damage_a_page(path)
        for most in (whole, 0):
            monkeypatch.setattr(sqlite, "_CHECKED_WHOLE", most)
            assert bool(faults()) is damaged, most


async def test_a_damaged_page_fails_reads_and_writes_and_no_daemon_begins_on_it(path: Path) -> None:
    damage_a_page(path)
    async with open_database(path, SystemClock(), create=False) as database:
        with pytest.raises(StoreError, match="damaged"):
            await database.read(acts)
        with pytest.raises(StoreError, match="damaged"):
            await database.write(note("lost"))
    error = await refused(path, StoreDamaged, "damaged")
    assert "soul db restore" in error.hint
    assert exit_code(error) is ExitCode.CONFIGURATION  # no restart helps
    overwrite(path, b"not a database at all".ljust(8192, b"x"))
    assert "restore" in (await refused(path, StoreError, "damaged")).hint


async def test_a_folder_in_the_place_of_the_file_and_a_path_through_a_file_are_refused(tmp_path: Path) -> None:
    await refused(tmp_path, StoreError, "can't be opened")
    overwrite(tmp_path / "file", b"")
    await refused(tmp_path / "file" / "memory.db", StoreError, "can't be created")


async def test_deleted_text_leaves_the_file(path: Path) -> None:
    async with open_database(path, SystemClock()) as database:
        for number in range(50):
            await database.write(note(f"{number}{CANARY}"))
        await database.write(lambda transaction: transaction.run("DELETE FROM audit"))
    for file in files(path.parent):
        assert b"canary-canary" not in content(file), file.name
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA secure_delete=OFF")
        connection.execute("INSERT INTO audit (actor, act, object, done_ms) VALUES ('', ?, '', 0)", (CANARY,))
        connection.commit()
        connection.execute("DELETE FROM audit")
    assert b"canary-canary" in b"".join(map(content, files(path.parent))), "this test would have found it"


def test_wal_is_safe_in_versions_without_the_reset_fault_and_an_existing_file_is_never_switched(path: Path) -> None:
    faulty = ((3, 40, 1), (3, 44, 5), (3, 45, 0), (3, 50, 6), (3, 51, 2))
    mended = ((3, 44, 6), (3, 50, 7), (3, 51, 3), (3, 53, 0), (4, 0, 0))
    assert [one for one in (*faulty, *mended) if sqlite.wal_is_safe(one)] == list(mended)
    make_wal(path)
    schema.migrate(path)
    with closing(sqlite.connect(path)) as connection:
        assert sqlite.journal_mode(connection) == "wal"
    assert look(path, "PRAGMA journal_mode") == [("wal",)]


def test_every_sqlite_error_becomes_a_store_error_with_a_hint() -> None:
    for code, kind, hint in (
        (sqlite3.SQLITE_BUSY, StoreBusy, "soul status"),
        (517, StoreBusy, "soul status"),  # SQLITE_BUSY_SNAPSHOT
        (sqlite3.SQLITE_LOCKED, StoreBusy, "soul status"),
        (sqlite3.SQLITE_FULL, StoreFull, "free space"),
        (sqlite3.SQLITE_CORRUPT, StoreDamaged, "restore"),
        (sqlite3.SQLITE_NOTADB, StoreDamaged, "restore"),
        (1032, StoreError, "owner and mode"),  # SQLITE_READONLY_DBMOVED
        (sqlite3.SQLITE_CANTOPEN, StoreError, "owner and mode"),
        (1034, StoreError, "soul db check"),  # SQLITE_IOERR_FSYNC
    ):
        error = sqlite3.OperationalError("it")
        error.sqlite_errorcode = code
        translated = sqlite.translate(error)
        assert type(translated) is kind, code
        assert hint in translated.hint, code


def test_every_connection_syncs_fully_and_checks_keys_and_a_read_only_one_writes_nothing(path: Path) -> None:
    schema.migrate(path)
    with closing(sqlite.connect(path)) as connection:
        settings = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("synchronous", "foreign_keys", "secure_delete", "trusted_schema", "fullfsync")
        }
    assert settings == {"synchronous": 2, "foreign_keys": 1, "secure_delete": 1, "trusted_schema": 0, "fullfsync": 1}
    with closing(sqlite.connect(path, read_only=True)) as connection, pytest.raises(sqlite3.OperationalError):
        connection.execute("DELETE FROM audit")


async def test_the_log_moves_into_the_file_or_its_reader_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_size, "LARGE", 2**18)
    make_wal(path)
    clock, events = FakeClock(), Events()
    async with open_database(path, SystemClock()) as database:
        log = path.with_name("memory.db-wal")
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM audit").fetchone()
            for number in range(4):
                await database.write(note(f"{number}" * 2**17))
            async with alongside(keep_log_small(database, clock, events)):
                await events.until("store.log_large")
                reader.execute("COMMIT")
                for _ in range(3):
                    await clock.sleepers()
                    await clock.advance(30)
                await clock.sleepers()
        assert await database.checkpoint(whole=True) == 0
        assert log.stat().st_size == 0
