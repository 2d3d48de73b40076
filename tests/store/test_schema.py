"""The tables, their migration, and query plans: no hot query reads a whole table."""

import asyncio
import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import groupby
from pathlib import Path

import pytest

from daemon.memory.database import Database, migrate, sqlite
from tests.fakes import FakeClock
from tests.given import DM, deleted, edited, effect, new_message
from tests.store.parts import Stores, look

pytestmark = pytest.mark.migrates
_ALEMBICS = "alembic_version"


def test_a_migration_runs_once_and_returns_both_versions(path: Path) -> None:
    assert migrate.migrate(path) == (0, migrate.SCHEMA)
    assert migrate.migrate(path) == (migrate.SCHEMA, migrate.SCHEMA)
    assert migrate.version_of(path) == migrate.SCHEMA


def test_an_empty_file_gets_the_same_schema_as_a_new_one(path: Path) -> None:
    path.touch()
    migrate.migrate(path)
    fresh = path.with_name("fresh.db")
    migrate.migrate(fresh)
    schema = "SELECT type, name, sql FROM sqlite_schema ORDER BY name"
    assert look(path, schema) == look(fresh, schema)


def test_the_newest_step_matches_the_schema_version() -> None:
    steps = sorted((Path(migrate.__file__).parent / "migrations" / "versions").glob("[0-9]*.py"))
    assert [int(step.name[:4]) for step in steps] == list(range(1, migrate.SCHEMA + 1))


def test_the_third_step_moves_what_reasons_and_envelopes_said_into_columns(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(migrate, "SCHEMA", 2)
        migrate.migrate(path)
    with closing(sqlite.connect(path)) as connection:
        for statement in _SCHEMA_2:
            connection.execute(statement)
    assert migrate.migrate(path) == (2, migrate.SCHEMA)
    assert look(path, "SELECT id, author, state, aside, message_id, name FROM inbox ORDER BY id") == [
        ("aside", "U1", "ignored", 1, "", ""),
        ("deleted", "U1", "withdrawn", 0, "", ""),
        ("http", "http.s", "answered", 0, "m-1", "Ada"),
        ("refused", "U2", "ignored", 0, "", ""),
    ]
    assert look(path, "SELECT id, draft_lost, reason, newer_than_ts, fence FROM outbox ORDER BY id") == [
        ("k1", 1, "", "1.0", 4),
        ("k2", 0, "rate limited", "1.0", 4),
    ]
    assert look(path, "SELECT fence, process_memory FROM conversations") == [(7, '{"goal": "find out"}')]


_SCHEMA_2 = (
    """
    INSERT INTO conversations (id, soul, workspace, channel, thread, place, audience, last_ms, gen, kept)
    VALUES ('c', 's', 'T', 'D', '', 'dm', 'dm:D', 1, 7, '{"goal": "find out"}')
    """,
    *(
        f"""
        INSERT INTO inbox (id, soul, workspace, channel, ts, conversation, actor, place, audience, body, source, state,
                           reason, received_ms, envelope)
        VALUES ('{name}', 's', 'T', '{channel}', '1.0', 'c', '{actor}', 'dm', 'dm:D', 'words', 'live', '{state}',
                '{reason}', 1, '{envelope}')
        """  # constants of this module
        for name, channel, actor, state, reason, envelope in (
            ("aside", "D", "U1", "ignored", "people talk to each other", "{}"),
            ("refused", "D", "U2", "ignored", "guest", "{}"),
            ("deleted", "http", "U1", "withdrawn", "deleted by its author", "{}"),
            ("http", "http", "http.s", "answered", "", '{"message_id":"m-1","name":"Ada"}'),
        )
    ),
    *(
        f"""
        INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient, posted_after,
                            audience, state, reason, created_ms, gen)
        VALUES ('{key}', 'c', 's', 'T', 0, 1, '', '', 'U1', '1.0', 'dm:D', 'pending', '{reason}', 1, 4)
        """  # constants of this module
        for key, reason in (("k1", "draft opened, its id unknown"), ("k2", "rate limited"))
    ),
)
"""Rows as a daemon with schema 2 left them."""


def test_every_table_is_strict_and_every_time_an_integer(path: Path) -> None:
    migrate.migrate(path)
    with closing(sqlite.connect(path)) as connection:
        tables = connection.execute(
            """
            SELECT name, strict FROM pragma_table_list
            WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'
            """
        )
        strict = {row["name"]: row["strict"] for row in tables}
        assert strict.pop(_ALEMBICS) == 0
        assert set(strict.values()) == {1}
        for table in strict:
            for column in connection.execute(f"PRAGMA table_info({table})"):
                if re.search(r"_ms$|^lease_until$|^not_before$", column["name"]):
                    assert column["type"] == "INTEGER", (table, column["name"])


@pytest.mark.parametrize("table", ["inbox", "outbox", "jobs", "turns", "feedback"])
def test_unknown_states_are_refused(path: Path, table: str) -> None:
    migrate.migrate(path)
    sql = str(look(path, "SELECT sql FROM sqlite_schema WHERE name = ?", table)[0][0])
    assert re.search(r"CHECK \((state|speaker|value) IN", sql)


def test_alembic_is_loaded_only_when_a_step_is_due(path: Path) -> None:
    program = """
import asyncio, json, sys
from pathlib import Path
from daemon.core.clock import SystemClock
from daemon.memory.store import open_store
async def live():
    async with open_store(Path(sys.argv[1]), SystemClock(), lambda *a, **k: None, soul="a", workspace="b", kind="c",
                          version="0", lease=1, on_accepted=lambda _: None):
        pass
asyncio.run(live())
print(json.dumps([name for name in ("alembic", "sqlalchemy") if name in sys.modules]))
"""

    def start() -> list[str]:
        done = subprocess.run([sys.executable, "-c", program, str(path)], check=True, capture_output=True, text=True)
        loaded: list[str] = json.loads(done.stdout)
        return loaded

    assert start() == ["alembic", "sqlalchemy"]  # the first start migrates, so the test can detect it
    assert start() == []


async def test_no_hot_query_reads_a_whole_table_that_grows(
    stores: Stores, database: Database, path: Path, clock: FakeClock
) -> None:
    statements: set[str] = set()
    connections = [database._writer, *(database._readers.get_nowait() for _ in range(2))]
    for connection in connections:
        await connection.set_trace_callback(statements.add)
    for reader in connections[1:]:
        database._readers.put_nowait(reader)
    await _a_full_day(stores, clock)
    for connection in connections:
        await connection.set_trace_callback(lambda _: None)
    plans = _plans(path, statements)
    assert len(plans) > 25
    scans = {
        f"{step}  <-  {' '.join(sql.split())}"
        for sql, steps in plans.items()
        for step in steps
        if re.match(r"SCAN (inbox|outbox|turns|jobs|deliveries|llm_calls|conversations|feedback|o|e|c|i|t|j)\b", step)
        and "USING" not in step
    }
    assert not scans, "\n".join(scans)


def _plans(path: Path, statements: set[str]) -> dict[str, list[str]]:
    with closing(sqlite3.connect(path)) as connection:
        return {
            sql: [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}")]
            for sql in statements
            if re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE)", sql)
        }


async def _a_full_day(stores: Stores, clock: FakeClock) -> None:
    """Run every statement of a message's life, and those of an idle daemon."""
    await stores.inbox.accept(new_message("1.0"))
    await stores.inbox.accept(edited("1.0", "other words"))
    claim = await stores.claim()
    await stores.conversations.begin_draft(claim, reply_to="", recipient="U1", newer_than_ts="1")
    await stores.conversations.draft_opened(claim, "1.5")
    await stores.conversations.renew(claim)
    await stores.turns.transcript(DM, 50)
    delivery = await stores.commits.commit(effect(claim, "a", "b", jobs=("summarizes",)))
    assert delivery is not None
    await stores.outbox.sent(delivery, "2.0")
    delivery = await stores.outbox.claim_next(str(DM))
    assert delivery is not None
    await stores.outbox.postpone(delivery, 0, doubtful=False, reason="429")
    delivery = await stores.outbox.claim_next()
    assert delivery is not None
    await stores.outbox.give_up(delivery, "dead", "no")
    job = await stores.jobs.claim_next()
    assert job is not None
    await stores.jobs.finish(job, ())
    for due in (stores.conversations.next_due_ms, stores.outbox.next_due_ms, stores.jobs.next_due_ms):
        assert await due() is None
    await stores.inbox.accept(deleted("1.0"))
    await stores.inbox.accept(new_message("3.0"))
    await stores.conversations.release(await stores.claim())


async def test_a_message_costs_few_statements(stores: Stores, database: Database) -> None:
    """Each statement is a trip to the writer's thread; the bounds reveal an increase."""
    counts: dict[str, int] = {}

    async def count(name: str, work: object) -> None:
        seen: list[str] = []
        await database._writer.set_trace_callback(seen.append)
        assert asyncio.iscoroutine(work)
        await work
        await database._writer.set_trace_callback(lambda _: None)
        counts[name] = sum(1 for _ in groupby(seen))  # a trigger repeats its statement, and makes no trip

    await count("accept", stores.inbox.accept(new_message()))
    claim = None

    async def claiming() -> None:
        nonlocal claim
        claim = await stores.claim()

    await count("claim", claiming())
    assert claim is not None
    await count("commit", stores.commits.commit(effect(claim, "hello")))
    delivery = await stores.outbox.claim_next()
    assert delivery is None
    print(counts)
    assert counts["accept"] <= 10
    assert counts["claim"] <= 10
    assert counts["commit"] <= 18
