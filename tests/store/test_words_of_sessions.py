"""What is said in a session is a turn of its own speaker: moved there from older files, and evidence of nothing."""

import itertools
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from daemon.core.perception import Place
from daemon.memory.admin.nights import check_memory
from daemon.memory.admin.remembered import remembered_people
from daemon.memory.database import Database, Transaction, migrate, open_database, sqlite
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.records.kinds import Record, Sense, Trust
from daemon.memory.knowledge.records.ledger import digest_of
from daemon.memory.knowledge.records.links import Link, Relation, link
from daemon.memory.knowledge.records.store import put
from daemon.memory.knowledge.turn_index import content_of_turn, store_turns
from daemon.memory.passport.entries import Owner
from daemon.memory.passport.exporting import export_passport
from daemon.memory.passport.importing import import_passport
from daemon.memory.people.erasure import Spared, erase
from daemon.memory.people.readings import worded
from daemon.memory.queues.claims import open_conversation
from daemon.memory.queues.memory_acts import Asker, Corrected
from daemon.memory.queues.remembering import Remembered
from daemon.memory.records import Speaks, Turn
from tests.fakes import FakeClock
from tests.store.older import make_older
from tests.store.parts import Stores, look
from tests.store.passports import BEES, COMMON, DAY, HERE, SAID, WHERE, remember

KEY = "0a1b2c3d"
AUTHOR = f"session.{KEY}"


_UNSAID = {"seq", "kind", "created_ms", "updated_ms", "used", "used_ms"}
_SCHEMA_7 = (
    """
    INSERT INTO conversations (id, soul, workspace, channel, thread, place, audience, last_ms)
    VALUES ('minoan/T1/D1/', 'minoan', 'T1', 'D1', '', 'dm', 'dm:D1', 1)
    """,
    *(
        f"""
        INSERT INTO turns (conversation, speaker, author, name, ts, body, audience, trace_id, said_ms)
        VALUES ('minoan/T1/D1/', '{speaker}', '{author}', 'Ann', '1.0', '{SAID}', 'dm:D1', 't', 1)
        """
        for speaker, author in (("person", "U1"), ("person", AUTHOR), ("soul", "minoan"), ("person", "session."))
    ),
    *(
        f"""
        INSERT INTO records (id, kind, soul, workspace, audience, channel, conversation, person, trust, significance,
          text, at_ms, created_ms, updated_ms)
        VALUES ('{id_}', 'fact', 'minoan', 'T1', 'dm:D1', 'D1', 'minoan/T1/D1/', '{person}', 'own', 5, 'bees', 1, 1, 1)
        """
        for id_, person in (("sem_1", "U1"), ("sem_2", AUTHOR))
    ),
    *(
        f"""
        INSERT INTO facts (id, subject, predicate, object, topic, confidence, claimed_by, valid_from_ms)
        VALUES ('{id_}', '{person}', 'said', 'bees', 'other', 0.95, '{person}', 1)
        """
        for id_, person in (("sem_1", "U1"), ("sem_2", AUTHOR))
    ),
    f"""
    INSERT INTO links (origin, relation, target, quote, linked_ms) VALUES ('sem_1', 'evidence', 'TU_1', '{SAID}', 1),
      ('sem_1', 'evidence', 'TU_2', '{SAID}', 1), ('sem_2', 'evidence', 'TU_2', '{SAID}', 1)
    """,
)


async def said_in_session(transaction: Transaction) -> str:
    """Store words of a session beside those of a person, who says the same; gives the id of the turn."""
    await remember(transaction, [Turn(Speaks.of(AUTHOR), AUTHOR, "Ann's session, asked", "5.0", SAID)], [])
    newest = await transaction.one("SELECT max(seq) AS seq FROM turns")
    assert newest is not None
    return f"TU_{newest['seq']}"


def older_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of schema 7: Ann and her session said the same, the soul answered, and a fact rests on each of them."""
    make_older(path, monkeypatch, 7, _SCHEMA_7)
    with closing(sqlite.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        turns = connection.execute("SELECT * FROM turns ORDER BY seq").fetchall()
        ids = [f"T{'L' if one['speaker'] == 'soul' else 'U'}_{one['seq']}" for one in turns]
        said = [("put turn", id_, content_of_turn(one)) for id_, one in zip(ids, turns, strict=True)]
        facts = [dict(one) for one in connection.execute("SELECT * FROM records JOIN facts USING (id) ORDER BY seq")]
        contents = [{name: one[name] for name in one if name not in _UNSAID} for one in facts]
        known = [("put fact", str(one["id"]), one) for one in contents]
        chain = ""
        for act, name, content in (*said, *known):
            digest = digest_of("salt", content)
            chain = digest_of(chain, {"act": act, "object": name, "reason": "", "digest": digest, "at_ms": DAY})
            connection.execute(
                "INSERT INTO ledger (act, object, salt, digest, chain, at_ms) VALUES (?, ?, 'salt', ?, ?, ?)",
                (act, name, digest, chain, DAY),
            )


@pytest.mark.migrates
async def test_the_eighth_step_moves_words_of_sessions_and_copies(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    older_file(path, monkeypatch)
    assert migrate.migrate(path) == (7, migrate.SCHEMA)
    assert look(path, "SELECT speaker, author FROM turns ORDER BY seq") == [
        ("person", "U1"),
        ("session", AUTHOR),
        ("soul", "minoan"),
        ("session", "session."),
    ]
    assert look(path, "SELECT id, trust, person FROM records ORDER BY seq") == [
        ("sem_1", "own", "U1"),
        ("sem_2", "inferred", ""),
    ]
    assert look(path, "SELECT origin, relation, target, quote FROM links ORDER BY 1, 2, 3") == [
        ("sem_1", "evidence", "TU_1", SAID),
        ("sem_1", "sources", "TU_2", ""),
        ("sem_2", "sources", "TU_2", ""),
    ]
    async with open_database(path, FakeClock(auto=True)) as database:
        found = await check_memory(database, Path("nowhere"), "")
    assert (found.chain, found.unquoted, found.links_broken) == (True, (), ())
    [copy] = (path.parent / "backups").iterdir()
    assert look(copy, "SELECT count(*) FROM turns WHERE speaker = 'person'") == [(3,)]
    with closing(sqlite.connect(path)) as connection:
        connection.execute("DELETE FROM vector_queue")
        connection.execute("UPDATE turns SET body = 'other words' WHERE seq = 2")
        queued = connection.execute("SELECT id FROM vector_queue").fetchall()
        assert sorted(id_ for (id_,) in queued) == ["TL_3", "TU_2"], "it is known by the id that it had"
        with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
            connection.execute("UPDATE turns SET speaker = 'person' WHERE seq = 2")


@pytest.mark.migrates
async def test_what_was_altered_before_the_eighth_step_is_found(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    older_file(path, monkeypatch)
    with closing(sqlite.connect(path)) as connection:
        connection.execute("UPDATE turns SET body = 'I keep wasps' WHERE seq = 2")
    migrate.migrate(path)
    async with open_database(path, FakeClock(auto=True)) as database:
        assert (await check_memory(database, Path("nowhere"), "")).altered == ("TU_2",)


async def test_nothing_said_in_a_session_proves_any_record(database: Database) -> None:
    said = await database.write(said_in_session)
    proof = Link("", Relation.EVIDENCE, said, SAID)
    hive = Sense(**COMMON, text="a hive", trust=Trust.DOCUMENT, data_type="image")
    for record in (*(replace(BEES, trust=trust) for trust in Trust), hive):

        async def prove_at_once(transaction: Transaction, record: Record = record) -> None:
            await put(transaction, record, DAY, [proof])

        async def prove_later(transaction: Transaction, record: Record = record) -> None:
            known = await put(transaction, record, DAY)
            await link(transaction, [replace(proof, origin=known.id)], DAY)

        for unit in (prove_at_once, prove_later):
            with pytest.raises(sqlite3.IntegrityError, match="proves nothing"):
                await database.write(unit)
    assert await database.rows("SELECT 1 FROM records UNION ALL SELECT 1 FROM links") == []
    own = replace(proof, target="TU_1")
    await database.write(lambda transaction: put(transaction, BEES, DAY, [own]))


async def test_what_a_session_asks_to_be_remembered_or_corrected_becomes_no_fact(database: Database) -> None:
    session, person = (Asker(one, WHERE, HERE, "5.0") for one in (AUTHOR, "U1"))
    await database.write(said_in_session)
    about_itself = await database.write(lambda transaction: put(transaction, replace(BEES, person=AUTHOR), DAY))
    facts = "SELECT 1 FROM facts"
    for kept, (quote, claim) in enumerate(itertools.product((SAID, ""), (True, False)), 1):
        act = Remembered(f"keeps {kept} bees", quote=quote, claim=claim)
        await database.write(partial(act.perform, asker=session, now=DAY))
        assert len(await database.rows(facts)) == kept, act
        await database.write(partial(act.perform, asker=person, now=DAY))
        assert len(await database.rows(facts)) == kept + 1, act
    await database.write(partial(Corrected(about_itself.id, SAID).perform, asker=session, now=DAY))
    assert len(await database.rows(facts)) == 5


async def test_a_passport_keeps_what_a_session_said_and_takes_no_proof_from_it(stores: Stores, tmp_path: Path) -> None:
    said = await stores.database.write(said_in_session)
    await export_passport(stores.database, tmp_path / "passport")
    [file] = (tmp_path / "passport").rglob(f"{said}.json")
    assert '"session": true' in file.read_text()
    fact = await stores.database.write(
        lambda transaction: put(transaction, BEES, DAY, [Link("", Relation.EVIDENCE, "TU_1", SAID)])
    )
    await export_passport(stores.database, tmp_path / "hostile")
    [proved] = (tmp_path / "hostile").rglob(f"*{fact.id}*.json")
    proved.write_text(proved.read_text().replace("TU_1", said))
    async with open_database(tmp_path / "other.db", FakeClock(auto=True)) as other:
        done = await import_passport(other, tmp_path / "hostile", Owner("minoan", "T1"), FakeClock(auto=True))
        assert [one.reason for one in done.refused] == [f"{said} was said in a session, which proves nothing"]
        rows = await other.rows("SELECT speaker, author, body FROM turns ORDER BY seq")
        assert [tuple(row) for row in rows] == [("person", "U1", SAID), ("session", AUTHOR, SAID)]
        assert await other.rows("SELECT 1 FROM facts") == []


async def test_an_admin_sees_sessions_among_no_people_and_their_owner_is_told_who_read_them(database: Database) -> None:
    said = await database.write(said_in_session)
    await database.run(
        "INSERT INTO keys (id, hash, person, visibility, created_ms) VALUES (:id, '', 'U1', 'hidden', 1)", id=KEY
    )
    people = await database.read(lambda transaction: remembered_people(transaction, 10))
    assert [one["person"] for one in people] == ["U1"]
    [words] = await database.read(lambda transaction: worded(transaction, [said]))
    assert words.people == {"U1"}


async def test_who_is_forgotten_takes_the_words_of_sessions_along_whose_key_is_not_here(database: Database) -> None:
    where = replace(WHERE, channel="session", thread="U1:s1")

    async def unit(transaction: Transaction) -> None:
        await remember(transaction, [], [])
        await open_conversation(transaction, where, Place.TERMINAL, HERE, DAY, heard=True)
        turn = Turn(Speaks.SESSION, AUTHOR, "Ann's session", "6.0", "The tenants are renamed.")
        await store_turns(transaction, [turn], conversation=where, audience=HERE, trace_id="hook/e2", now=DAY)
        await erase(transaction, WHERE.workspace, "U1", Spared(), DAY, 2 * DAY)

    await database.write(unit)
    assert await database.rows("SELECT 1 FROM turns") == []
