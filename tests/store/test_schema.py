"""The tables, the steps that change them, and how few statements a message costs."""

import asyncio
import re
from contextlib import closing
from itertools import groupby
from pathlib import Path

import pytest

from daemon.core.errors import StoreError
from daemon.memory.database import Database, schema, sqlite
from daemon.memory.database.schema import BASELINE, SCHEMA, STEPS, migrate
from tests.given import effect, new_message
from tests.store.parts import Stores, look, poke

OBJECTS = "SELECT type, name, sql FROM sqlite_schema ORDER BY name"
TABLES = """
    SELECT l.name, l.strict, s.sql FROM pragma_table_list l JOIN sqlite_schema s ON s.name = l.name
    WHERE l.schema = 'main' AND l.type = 'table' AND l.name NOT LIKE 'sqlite_%'
"""


def test_an_empty_file_gets_the_schema_as_a_new_one_does_which_is_private_and_has_a_safe_journal(path: Path) -> None:
    path.touch(mode=0o660)
    path.chmod(0o660)
    fresh = path.with_name("fresh.db")
    for one in (path, fresh):
        assert migrate(one) == (0, SCHEMA)
        assert migrate(one) == (SCHEMA, SCHEMA), "it is made once"
    assert look(path, OBJECTS) == look(fresh, OBJECTS)
    assert [one.stat().st_mode & 0o777 for one in (path, fresh)] == [0o660, 0o600]
    with closing(sqlite.connect(fresh)) as connection:
        assert sqlite.journal_mode(connection) == ("wal" if sqlite.wal_is_safe() else "truncate")
    assert list(STEPS) == list(range(BASELINE + 1, SCHEMA + 1)), "a step is missing"
    assert not (path.parent / "backups").exists()


def test_steps_follow_each_other_and_one_that_fails_leaves_the_file_at_the_one_before(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(path)
    poke(path, "INSERT INTO audit (actor, act, object, done_ms) VALUES ('ada', 'test', 'before', 1)")
    scripts = [tmp_path / f"{number:04d}_a_step.sql" for number in range(SCHEMA + 1, SCHEMA + 4)]
    scripts[0].write_text("""-- A first step; with a trigger.
        CREATE TABLE hives (id TEXT PRIMARY KEY, bees INTEGER) STRICT; -- a hive
        CREATE TRIGGER hives_end AFTER DELETE ON hives BEGIN
          INSERT INTO audit (actor, act, object, done_ms) VALUES ('', 'a;b', OLD.id, 1);
          INSERT INTO audit (actor, act, object, done_ms) VALUES ('', 'end', OLD.id, 1);
        END;
        INSERT INTO hives SELECT object, 1 FROM audit""")
    scripts[1].write_text("DELETE FROM hives; SELECT no_such_column FROM hives;".replace("; ", ";\n"))
    scripts[2].write_text("DROP TABLE hives;")
    for number, script in enumerate(scripts, SCHEMA + 1):
        monkeypatch.setitem(schema.STEPS, number, script)
    monkeypatch.setattr(schema, "SCHEMA", SCHEMA + 3)
    with pytest.raises(StoreError, match="no such column"):
        migrate(path)
    assert schema.version_of(path) == SCHEMA + 1
    assert look(path, "SELECT id, bees FROM hives") == [("before", 1)]
    [copy] = (path.parent / "backups").iterdir()
    assert (schema.version_of(copy), look(copy, "SELECT object FROM audit")) == (SCHEMA, [("before",)])
    scripts[1].write_text("DELETE FROM hives;")
    assert migrate(path) == (SCHEMA + 1, SCHEMA + 3)
    assert look(path, "SELECT act FROM audit ORDER BY seq") == [("test",), ("a;b",), ("end",)]
    fresh = path.with_name("fresh.db")
    migrate(fresh)
    assert look(path, OBJECTS) == look(fresh, OBJECTS)


def test_every_table_is_strict_and_says_what_a_row_is_every_time_is_an_integer_and_unknown_states_are_refused(
    path: Path,
) -> None:
    migrate(path)
    for table, strict, sql in look(path, TABLES):
        assert strict == 1, table
        assert re.match(rf"CREATE TABLE {table} \(\n  -- [A-Z].*\.\n", str(sql)), f"{table} doesn't say what a row is"
        for name, kind in look(path, "SELECT name, type FROM pragma_table_info(?)", str(table)):
            if re.search(r"_ms$|^lease_until$|^not_before$", str(name)):
                assert kind == "INTEGER", (table, name)
    for table, column in (
        *(("inbox", "state"), ("outbox", "state"), ("jobs", "state"), ("turns", "speaker"), ("feedback", "value")),
        *(("intentions", "cue"), ("consolidation_changes", "act"), ("mind_authority", "level")),
    ):
        [(sql,)] = look(path, "SELECT sql FROM sqlite_schema WHERE name = ?", table)
        assert re.search(rf"CHECK \(\s*{column} (IN|BETWEEN)", str(sql)), f"{table} takes unknown states"


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
    assert counts["accept"] <= 11  # one asks what is offered to its author as an answer
    assert counts["claim"] <= 11  # one asks whether the thread belongs to a session
    assert counts["commit"] <= 28  # three are the ledger's, three let a damaged index fail alone, one asks who may hear
