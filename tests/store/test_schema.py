"""The tables, their migration, and how few statements a message costs."""

import asyncio
import json
import re
import subprocess
import sys
from contextlib import closing
from itertools import groupby
from pathlib import Path

import pytest

from daemon.memory.database import Database, migrate, sqlite
from tests.given import effect, new_message
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


async def test_a_message_costs_few_statements(stores: Stores, database: Database) -> None:
    """Each statement is a trip to the writer's thread; the bounds reveal an increase."""
    counts: dict[str, int] = {}

    async def count(name: str, work: object) -> None:
        seen: list[str] = []
        await database._writer.set_trace_callback(seen.append)
        assert asyncio.iscoroutine(work)
        await work
        await database._writer.set_trace_callback(lambda _: None)
        ours = [sql for sql in seen if "'main'." not in sql]  # full-text search keeps its own tables
        counts[name] = sum(1 for _ in groupby(ours))  # a trigger repeats its statement, and makes no trip

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
    assert counts["commit"] <= 20
