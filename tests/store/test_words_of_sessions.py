"""What is said in a session is a turn of its own speaker, and evidence of nothing."""

import itertools
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.perception import Place
from daemon.memory.admin.remembered import remembered_people
from daemon.memory.database import Database, Transaction, open_database
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.records.kinds import Record, Sense, Trust
from daemon.memory.knowledge.records.links import Link, Relation, link
from daemon.memory.knowledge.records.store import put
from daemon.memory.knowledge.turn_index import store_turns
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
from tests.store.parts import Stores
from tests.store.passports import BEES, COMMON, DAY, HERE, SAID, WHERE, remember

KEY = "0a1b2c3d"
AUTHOR = f"session.{KEY}"


async def said_in_session(transaction: Transaction) -> str:
    """Store words of a session beside those of a person, who says the same; gives the id of the turn."""
    await remember(transaction, [Turn(Speaks.of(AUTHOR), AUTHOR, "Ann's session, asked", "5.0", SAID)], [])
    newest = await transaction.one("SELECT max(seq) AS seq FROM turns")
    assert newest is not None
    return f"TU_{newest['seq']}"


async def test_words_of_a_session_can_not_become_those_of_a_person(database: Database) -> None:
    await database.write(said_in_session)
    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        await database.run("UPDATE turns SET speaker = 'person' WHERE speaker = 'session'")


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
    assert '"speaker": "session"' in file.read_text()
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
