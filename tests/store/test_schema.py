"""The tables, their migration, and how few statements a message costs."""

import asyncio
import hashlib
import json
import re
from contextlib import closing
from itertools import groupby
from pathlib import Path

import pytest

from daemon.memory.database import Database, migrate, sqlite
from tests.given import effect, new_message
from tests.store.older import make_older
from tests.store.parts import Stores, look

_ALEMBICS = "alembic_version"
OBJECTS = "SELECT type, name, sql FROM sqlite_schema ORDER BY name"


@pytest.mark.migrates
def test_an_empty_file_gets_by_steps_what_a_new_one_is_copied_from_which_is_private_and_has_a_safe_journal(
    path: Path,
) -> None:
    path.touch(mode=0o660)
    path.chmod(0o660)
    assert migrate.migrate(path) == (0, migrate.SCHEMA)
    fresh = path.with_name("fresh.db")
    assert migrate.prepare(fresh) == (migrate.SCHEMA, migrate.SCHEMA), "the copy needs no step"
    assert [one.name for one in path.parent.glob("*fresh*")] == ["fresh.db"]
    assert look(path, OBJECTS) == look(fresh, OBJECTS)
    assert [one.stat().st_mode & 0o777 for one in (path, fresh)] == [0o660, 0o600]
    with closing(sqlite.connect(fresh)) as connection:
        assert sqlite.journal_mode(connection) == ("wal" if sqlite.wal_is_safe() else "truncate")
    assert migrate.migrate(path) == (migrate.SCHEMA, migrate.SCHEMA), "a migration runs once"
    assert migrate.version_of(path) == migrate.SCHEMA
    steps = sorted((Path(migrate.__file__).parent / "migrations" / "versions").glob("[0-9]*.py"))
    assert [int(step.name[:4]) for step in steps] == list(range(1, migrate.SCHEMA + 1))


@pytest.mark.migrates
def test_a_step_that_files_have_taken_is_never_changed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for schema, digest in (
        (4, "6b54ca931ae93bcf"),
        (5, "38cdf34b4e482ce1"),
        (9, "20fac504b48d7e5b"),
        (10, "dd4134f5ef46432b"),
        (11, "ffdd4e9a8f74b611"),
        (12, "4508a83a48b8d4f4"),
        (13, "23ae0e0d0c608ac0"),
        (15, "e191ff356a066ac5"),
    ):
        make_older(path, monkeypatch, schema)  # each from the one before, as files take them
        statements = sorted(" ".join(str(sql).split()) for (sql,) in look(path, "SELECT sql FROM sqlite_schema") if sql)
        found = hashlib.sha256("\n".join(statements).encode()).hexdigest()
        assert found.startswith(digest), f"files at schema {schema} lack what was added: append a step"
    fresh = path.with_name("fresh.db")
    migrate.migrate(path)
    migrate.migrate(fresh)
    assert look(path, OBJECTS) == look(fresh, OBJECTS)


@pytest.mark.migrates
def test_the_sixth_step_makes_facts_of_notes_and_keeps_a_copy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_older(path, monkeypatch, 5, _SCHEMA_5)
    monkeypatch.setattr("secrets.token_hex", lambda _: "0a1b2c3d")  # of 40,000 ids two are often the same
    assert migrate.migrate(path) == (5, migrate.SCHEMA)
    found = look(
        path,
        """
        SELECT r.text, r.trust, r.audience, r.channel, f.valid_until_ms, f.why_ended,
               (SELECT group_concat(target) FROM links l WHERE l.origin = r.id AND relation = 'evidence')
        FROM records r JOIN facts f ON f.id = r.id ORDER BY r.seq
        """,
    )
    assert found == [
        ("likes tea", "noted", "dm:D", "D", 20, "superseded", "TU_1"),
        ("has a cat", "noted", "dm:D", "D", 30, "retired", "TU_1"),
        ("likes coffee", "noted", "dm:D", "D", None, "", "TU_1,TU_3"),
        ("sings", "noted", "dm:D", "", None, "", None),
        ("from nowhere", "noted", "dm:D", "", None, "", None),
    ]
    assert look(path, "SELECT quote FROM links WHERE quote <> ''") == []
    assert look(path, "SELECT words FROM record_words ORDER BY seq LIMIT 1") == [("likes tea",)]
    lines = {str(id_): text for id_, text in look(path, "SELECT id, text FROM records")}
    history = look(path, "SELECT notes, change FROM user_model_history ORDER BY version")
    assert [[lines[one] for one in json.loads(str(notes))] for notes, _ in history] == [
        ["likes tea", "has a cat"],
        ["likes coffee", "has a cat"],
        ["likes coffee", "sings"],
    ]
    change = json.loads(str(history[1][1]))
    assert [[lines[one] for one in pair] for pair in change["corrected"]] == [["likes tea", "likes coffee"]]
    [copy] = (path.parent / "backups").iterdir()
    assert look(copy, "SELECT notes FROM user_models") == [('["likes coffee", "sings", "from nowhere"]',)]


@pytest.mark.migrates
def test_no_row_that_cannot_be_read_costs_the_sixth_step(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unreadable = (
        "not JSON at all",
        "null",
        "[" * 100_000,
        '["half of a \\ud800 character"]',
        '{"conversation": "\\ud800", "first": 1, "last": 2}',
        '{"conversation": "s/T/D/", "first": 1e400, "last": NaN}',
        f'{{"conversation": "s/T/D/", "first": 1, "last": {10**30}}}',
        '{"corrected": [["\\ud800", "likes tea"], [1, {}], 7]}',
    )
    make_older(path, monkeypatch, 5, _SCHEMA_5)
    with closing(sqlite.connect(path)) as connection:
        for number, text in enumerate(unreadable):
            for table, columns in (
                ("user_models", "version, name, notes, updated_ms"),
                ("user_model_history", "version, notes, whispers, change, trace_id, made_ms"),
            ):
                connection.execute(
                    f"INSERT INTO {table} (soul, workspace, person, audience, {columns})"
                    f" SELECT soul, workspace, ?, audience, {columns} FROM {table} WHERE person = 'U1'",
                    (f"P{number}",),
                )
            ours = "person = ? AND version"
            connection.execute(f"UPDATE user_model_history SET change = ? WHERE {ours} = 1", (text, f"P{number}"))
            connection.execute(
                f"UPDATE user_model_history SET notes = ?, change = ? WHERE {ours} = 2", (text, text, f"P{number}")
            )
    assert migrate.migrate(path) == (5, migrate.SCHEMA)
    held = "SELECT r.text FROM records r JOIN facts f ON f.id = r.id WHERE f.valid_until_ms IS NULL AND r.person = ?"
    for number, text in enumerate(unreadable):
        found = sorted(look(path, held, f"P{number}"))
        assert found == [("from nowhere",), ("likes coffee",), ("sings",)], text[:80]


_SCHEMA_5 = (
    """
    INSERT INTO conversations (id, soul, workspace, channel, thread, place, audience, last_ms)
    VALUES ('s/T/D/', 's', 'T', 'D', '', 'dm', 'dm:D', 1)
    """,
    *(
        f"""
        INSERT INTO turns (seq, conversation, speaker, author, name, ts, body, audience, trace_id, said_ms)
        VALUES ({seq}, 's/T/D/', '{speaker}', '{author}', '', '1.0', 'words', 'dm:D', 't', 1)
        """  # constants of this module
        for seq, speaker, author in ((1, "person", "U1"), (2, "soul", "s"), (3, "person", "U1"), (4, "person", "U2"))
    ),
    """
    INSERT INTO user_models (soul, workspace, person, audience, version, name, notes, updated_ms)
    VALUES ('s', 'T', 'U1', 'dm:D', 3, 'Ada', '["likes coffee", "sings", "from nowhere"]', 40)
    """,
    *(
        f"""
        INSERT INTO user_model_history (soul, workspace, person, audience, version, notes, whispers, change, trace_id,
                                        made_ms)
        VALUES ('s', 'T', 'U1', 'dm:D', {version}, '{notes}', '', '{change}', 't', {version}0)
        """  # constants of this module
        for version, notes, change in (
            (1, '["likes tea", "has a cat"]', '{"conversation": "s/T/D/", "first": 1, "last": 2}'),
            (
                2,
                '["likes coffee", "has a cat"]',
                '{"conversation": "s/T/D/", "first": 3, "last": 4, "corrected": [["likes tea", "likes coffee"]]}',
            ),
            (3, '["likes coffee", "sings"]', "not JSON at all"),
        )
    ),
)
"""Rows as a daemon with schema 5 left them; the change of the third version can't be read."""


def test_every_table_is_strict_and_every_time_an_integer_and_unknown_states_are_refused(path: Path) -> None:
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
    for table in ("inbox", "outbox", "jobs", "turns", "feedback"):
        [(sql,)] = look(path, "SELECT sql FROM sqlite_schema WHERE name = ?", table)
        assert re.search(r"CHECK \((state|speaker|value) IN", str(sql)), f"{table} takes unknown states"


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
