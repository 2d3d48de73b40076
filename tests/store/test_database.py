"""Units of work share a transaction and nothing else; a write that returned is stored."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from daemon.core.errors import SchemaMismatch, StoreBusy, StoreError
from daemon.core.ports.services import SystemClock
from daemon.memory.database import Database, Transaction, open_database, schema
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.database.work_thread import WorkThread
from tests import template
from tests.fakes import TIMEOUT, FakeClock
from tests.store.parts import ACTS, Note, acts, look, make_rollback, note, poke


@asynccontextmanager
async def held_up(database: Database) -> AsyncIterator[None]:
    """Keep the writer busy with one unit, so that all units queued meanwhile form the next batch."""
    go = threading.Event()
    first = Note("first", hold=go)
    async with asyncio.TaskGroup() as group:
        group.create_task(database.write(first))
        await first.started()
        try:
            yield
        finally:
            await asyncio.sleep(0)
            go.set()


async def test_a_failing_unit_is_undone_alone(database: Database, path: Path) -> None:
    answers: dict[str, object] = {}

    async def ask(name: str, unit: object) -> None:
        try:
            answers[name] = await database.write(unit)  # type: ignore[arg-type]  # units of both kinds
        except Exception as error:  # noqa: BLE001 - the test looks at it
            answers[name] = error

    faults = {
        "constraint": ("INSERT INTO audit (seq, actor) VALUES (1, :value)", None),
        "too big": ("INSERT INTO audit (actor) VALUES (zeroblob(:value))", 2_000_000_000),
        "wrong type": ("INSERT INTO audit (actor) VALUES (:value)", object()),
    }
    for number, (fault, (sql, value)) in enumerate(faults.items(), 1):

        async def faulty(transaction: Transaction, sql: str = sql, value: object = value) -> None:
            await note("half done")(transaction)
            await transaction.run(sql, value=value)

        async with asyncio.TaskGroup() as group, held_up(database):
            for name, unit in {"before": note("before"), "faulty": faulty, "after": note("after")}.items():
                group.create_task(ask(name, unit))
        assert (answers["before"], answers["after"]) == ("before", "after"), fault
        assert isinstance(answers["faulty"], sqlite3.Error), fault
        assert look(path, ACTS) == [("first",), ("before",), ("after",)] * number, fault


async def test_a_write_returns_only_after_the_commit(database: Database, path: Path) -> None:
    seen: list[bool] = []

    async def ask(number: int) -> None:
        act = await database.write(note(f"a{number}"))
        seen.append((act,) in look(path, ACTS))

    async with asyncio.TaskGroup() as group:
        for number in range(50):
            group.create_task(ask(number))
    assert seen == [True] * 50


async def test_a_failed_commit_fails_every_unit_of_its_batch(database: Database, path: Path) -> None:
    """Not even the unit's own error is raised: it may rest on rows of another unit that were lost."""

    async def deferred_fault(transaction: Transaction) -> None:
        await transaction.run("PRAGMA defer_foreign_keys=ON")
        await transaction.run("INSERT INTO feedback VALUES ('nothing', 'U1', 'good', 0)")

    answers: list[BaseException] = []

    async def ask(unit: object) -> None:
        try:
            await database.write(unit)  # type: ignore[arg-type]  # units of both kinds
        except (StoreError, LookupError) as error:
            answers.append(error)

    async with asyncio.TaskGroup() as group, held_up(database):
        for unit in (note("a"), Note("b", fail=LookupError("seen too early")), deferred_fault):
            group.create_task(ask(unit))
    assert [type(answer) for answer in answers] == [StoreError] * 3
    assert look(path, ACTS) == [("first",)]
    assert await database.write(note("next")) == "next"


async def test_a_unit_cancelled_before_its_start_is_not_run_and_one_that_runs_is_stored(database: Database) -> None:
    unwanted = note("unwanted")
    async with held_up(database):
        task = asyncio.ensure_future(database.write(unwanted))
        await asyncio.sleep(0)
        task.cancel()
    go = threading.Event()
    slow = Note("slow", hold=go)
    task = asyncio.ensure_future(database.write(slow))
    await slow.started()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    assert await database.write(note("next")) == "next"
    assert unwanted.ran == 0
    assert look(database.path, ACTS) == [("first",), ("slow",), ("next",)]


async def test_each_write_has_its_own_deadline(either: Path) -> None:
    async with open_database(either, SystemClock()) as database:
        with closing(sqlite3.connect(either, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            async with asyncio.TaskGroup() as group:
                slow = group.create_task(database.write(note("slow"), within=20.0))
                with pytest.raises(StoreBusy, match="another process"):
                    await database.write(note("quick"), within=0.1)
                assert not slow.done()
                other.execute("COMMIT")
        assert slow.result() == "slow"
    assert look(either, ACTS) == [("slow",)]


async def test_a_read_behind_a_locked_rollback_journal_raises_at_its_deadline(path: Path) -> None:
    template.by_copy(path)
    make_rollback(path)
    async with open_database(path, SystemClock()) as database:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            with pytest.raises(StoreBusy):
                await database.read(acts, within=0.1)
            other.execute("COMMIT")
        assert await database.read(acts) == []


async def test_a_read_sees_one_snapshot(either: Path) -> None:
    async with open_database(either, SystemClock()) as database:
        await database.write(note("before"))
        looked, go = threading.Event(), threading.Event()

        async def twice(transaction: Transaction) -> tuple[list[str], list[str]]:
            first = await acts(transaction)
            looked.set()
            assert go.wait(TIMEOUT)
            return first, await acts(transaction)

        async with asyncio.TaskGroup() as group:
            reading = group.create_task(database.read(twice))
            await asyncio.to_thread(looked.wait, TIMEOUT)
            writing = group.create_task(database.write(note("meanwhile")))
            if either.with_name("memory.db-wal").exists():
                await writing  # a reader of a WAL does not block writers
            go.set()
        assert reading.result() == (["before"], ["before"])
        assert await database.read(acts) == ["before", "meanwhile"]


async def test_a_read_cancelled_at_any_step_leaves_no_snapshot_open(database: Database) -> None:
    for turns in range(8):
        task = asyncio.ensure_future(database.read(acts))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        await database.write(note(f"a{turns}"))
        for _ in range(2):  # both readers
            assert len(await database.read(acts)) == turns + 1


async def test_an_error_of_sqlite_is_a_store_error_and_a_unit_awaits_no_others(database: Database, path: Path) -> None:
    with pytest.raises(StoreError, match="no such table"):
        await database.read(lambda transaction: transaction.rows("SELECT * FROM nowhere"))
    with pytest.raises(StoreError, match="no such table"):
        await database.write(lambda transaction: transaction.rows("SELECT * FROM nowhere"))

    async def idle(transaction: Transaction) -> None:
        await note("half done")(transaction)
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="nothing but its transaction"):
        await database.write(idle)
    assert await database.write(note("next")) == "next"
    assert look(path, ACTS) == [("next",)]


async def test_a_schema_that_becomes_newer_stops_all_writes(database: Database, path: Path) -> None:
    await database.write(note("before"))
    poke(path, f"PRAGMA user_version={schema.SCHEMA + 1}")
    with pytest.raises(SchemaMismatch, match=r"update the program|knows"):
        await database.write(note("after"))
    assert look(path, ACTS) == [("before",)]
    assert await database.read(acts) == ["before"]


async def test_closing_commits_the_queued_units_first(path: Path) -> None:
    async with asyncio.TaskGroup() as group, open_database(path, FakeClock(auto=True)) as database:
        waiting = [group.create_task(database.write(note(f"a{number}"))) for number in range(200)]
        await asyncio.sleep(0)
    assert [task.result() for task in waiting] == [f"a{number}" for number in range(200)]
    assert look(path, "SELECT count(*) FROM audit") == [(200,)]
    with pytest.raises(StoreError, match="closed"):
        await database.write(note("too late"))


async def test_a_cancelled_writer_fails_every_queued_unit(path: Path, clock: FakeClock) -> None:
    async with open_database(path, clock) as opened:
        connection = WorkThread(path, clock, busy_ms=50)
        await connection
        database = Database(path, clock, connection, [])
        writer = asyncio.ensure_future(database.run_writer())
        go = threading.Event()
        hanging = Note("hanging", hold=go)
        running = asyncio.ensure_future(database.write(hanging))
        await hanging.started()
        queued = asyncio.ensure_future(database.write(note("queued")))
        await asyncio.sleep(0)
        writer.cancel()
        await asyncio.wait([writer, running, queued])
        assert isinstance(running.exception(), StoreBusy)  # it may be stored all the same
        assert isinstance(queued.exception(), StoreError)
        go.set()
        await connection.close()
        assert await opened.read(acts) in ([], ["hanging"])


async def test_a_batch_that_takes_long_is_committed_in_parts(database: Database, clock: FakeClock, path: Path) -> None:
    class Slow(Note):
        async def __call__(self, transaction: Transaction) -> str:
            clock._elapsed += 0.03  # as a slow disk does
            return await super().__call__(transaction)

    for kind, number, commits in ((Note, 20, 2), (Slow, 5, 6)):
        statements: list[str] = []
        await database._writer.set_trace_callback(statements.append)
        async with asyncio.TaskGroup() as group, held_up(database):
            tasks = [group.create_task(database.write(kind(f"a{one}"))) for one in range(number)]
        await database._writer.set_trace_callback(lambda _: None)
        assert [task.result() for task in tasks] == [f"a{one}" for one in range(number)]
        assert statements.count("COMMIT") == commits, kind
    assert len(look(path, ACTS)) == 27


async def test_a_busy_loop_does_not_prolong_a_transaction(database: Database, path: Path) -> None:
    """The whole unit runs while the loop does something else: no statement of it waits for the loop."""
    seen, blocked = note("seen"), threading.Event()

    async def unit(transaction: Transaction) -> None:
        await seen(transaction)
        await seen(transaction)
        blocked.set()

    writing = asyncio.ensure_future(database.write(unit))
    await seen.started()
    assert blocked.wait(TIMEOUT)  # the loop stands still here
    await writing
    assert len(look(path, ACTS)) == 2


async def test_a_read_beyond_its_budget_is_ended_and_tried_again(path: Path) -> None:
    clock = FakeClock(auto=True)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    tries = 0

    async def long_read(transaction: Transaction) -> None:
        nonlocal tries
        tries += 1
        clock._elapsed += 0.6
        await transaction.rows(endless)

    async with open_database(path, clock) as database:
        with pytest.raises(StoreBusy, match="took too long"):
            await database.read(long_read, within=2.0)
        assert tries in range(2, 5)
        assert await database.read(acts) == []
