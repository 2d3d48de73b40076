"""`soul memory verify`: every kind of harm to what is remembered shows, and forgetting is none."""

from pathlib import Path

import pytest

from daemon.memory.admin.nights import MemoryFindings, check_memory
from daemon.memory.audit import record_act
from daemon.memory.database import Database, open_database
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.links import Link, Relation
from daemon.memory.knowledge.records.store import put
from daemon.memory.queues.memory_acts import Asker, Forgotten
from tests.fakes import FakeClock
from tests.store.passports import BEES, DAY, HERE, WHERE, remember


async def filled(database: Database) -> str:
    await database.write(lambda transaction: remember(transaction, [], []))
    proof = [Link("", Relation.EVIDENCE, "TU_1", "I keep bees")]
    fact = await database.write(lambda transaction: put(transaction, BEES, DAY, proof))
    await database.write(lambda transaction: record_act(transaction, actor="root", act="retry", subject="1", now=DAY))
    return fact.id


async def check(database: Database) -> MemoryFindings:
    return await check_memory(database, Path("nowhere"), "")


async def test_a_whole_memory_is_sound_also_after_it_forgot(database: Database) -> None:
    fact = await filled(database)
    found = await check(database)
    assert (found.sound, found.chain, found.facts) == (True, True, 1)
    await database.write(lambda transaction: forget(transaction, [fact], DAY, "asked"))
    assert (await check(database)).sound


async def test_a_turn_whose_facts_its_person_had_forgotten_is_checked_like_any_other(database: Database) -> None:
    fact = await filled(database)
    where = Asker("U1", WHERE, HERE, "1.0")
    await database.write(lambda transaction: Forgotten(fact).perform(transaction, where, DAY))
    assert (await check(database)).sound
    await database.run("UPDATE turns SET body = 'I keep bees, I said' WHERE seq = 1")
    assert (await check(database)).altered == ("TU_1",)


HARMS = (
    ("UPDATE records SET text = 'Ann hates bees' WHERE kind = 'fact'", "altered"),
    ("UPDATE records SET extra = '{' WHERE kind = 'fact'", "altered"),
    ("UPDATE turns SET body = 'I keep bees, I said' WHERE seq = 1", "altered"),
    ("UPDATE audit SET actor = 'nobody'", "altered"),
    ("DELETE FROM audit", "altered"),
    ("DELETE FROM ledger WHERE object LIKE 'sem_%'", "broken_at"),
    ("UPDATE ledger SET reason = 'another' WHERE seq = 1", "broken_at"),
    ("UPDATE links SET quote = 'I eat bees'", "unquoted"),
    ("DELETE FROM links", "unquoted"),
    ("INSERT INTO links VALUES ('EP_1', 'turn_refs', 'TL_1', '', 0)", "links_broken"),
    ("DELETE FROM record_words", "index_missing"),
    ("INSERT INTO turn_words VALUES (99, 'x', 'y')", "index_orphaned"),
    ("INSERT INTO turn_words VALUES (1000000000000, 'x', 'y')", "index_orphaned"),
)


async def test_every_harm_shows(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(database)
    for number, (harm, shows) in enumerate(HARMS):
        copy = tmp_path / f"{number}.db"
        await database.copy_to(copy)
        async with open_database(copy, FakeClock(auto=True)) as harmed:
            await harmed.run(harm)
            for at_once in (1, 20_000):
                monkeypatch.setattr("daemon.memory.admin.nights._LOOKED_AT", at_once)
                found = await check(harmed)
                assert not found.sound, harm
                assert getattr(found, shows), harm
