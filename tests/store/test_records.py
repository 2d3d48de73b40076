"""Records keep their links whole: none points at nothing, and what is made from forgotten words goes with them."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.records import ledger
from daemon.memory.knowledge.records.forget import SUPERSEDED, forget
from daemon.memory.knowledge.records.kinds import (
    Core,
    Episode,
    Fact,
    JournalEntry,
    Qualia,
    Sense,
    StructuredSummary,
    Topic,
    Trust,
    WorkflowState,
)
from daemon.memory.knowledge.records.links import BrokenLink, Link, Relation, cross_link, link, links_from, turn_id
from daemon.memory.knowledge.records.store import NoSuchRecord, change, get, put, select
from daemon.memory.knowledge.soul_states import NewestQualia
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.records import Speaks, Turn
from tests.given import DM, HERE
from tests.store.parts import a_fact, look, poke, room

DAY = 1_769_558_400_000  # 28 January 2026, 00:00 UTC
COMMON = {"soul": "minoan", "workspace": "T1", "audience": HERE, "channel": "D1", "at_ms": DAY}


def fact(line: str = "Ann works on billing") -> Fact:
    said = {"person": "U1", "predicate": "works on", "object": "billing", "topic": Topic.WORK, "valid_from_ms": DAY}
    return a_fact(line, **COMMON, **said)


def core() -> Core:
    return Core(text="All about billing", trust=Trust.INFERRED, state="closed", **COMMON)  # type: ignore[arg-type]


def episode(**values: object) -> Episode:
    return Episode(text="A talk about billing", trust=Trust.INFERRED, **COMMON, **values)  # type: ignore[arg-type]


def sense(**values: object) -> Sense:
    return Sense(text="A red door", trust=Trust.DOCUMENT, data_type="image", **COMMON, **values)  # type: ignore[arg-type]


async def said(transaction: Transaction, text: str = "I work on billing") -> str:
    turn = Turn(Speaks.PERSON, "U1", "Ann", "1.000", text)
    await store_turns(transaction, [turn], conversation=DM, audience=HERE, trace_id="t", now=DAY)
    newest = await transaction.one("SELECT max(seq) AS seq FROM turns")
    assert newest is not None
    return turn_id(Speaks.PERSON, newest["seq"])


LOOSE_ENDS = """
    SELECT origin, target FROM links WHERE origin NOT IN (SELECT id FROM records)
      OR target NOT IN (SELECT id FROM records UNION ALL SELECT 'TU_' || seq FROM turns)
    """
INDEXED = "SELECT seq FROM record_words EXCEPT SELECT seq FROM records WHERE text <> ''"
UNINDEXED = "SELECT seq FROM records WHERE text <> '' AND kind <> 'journal' EXCEPT SELECT seq FROM record_words"


def in_one(unit: Callable[[Transaction], Awaitable[object]]) -> Callable[[Database], Awaitable[None]]:
    """A test that is one unit of work, after which the links and the index are whole."""

    async def test(database: Database) -> None:
        await room(database)
        await database.write(unit)
        for harm in (LOOSE_ENDS, INDEXED, UNINDEXED):
            assert look(database.path, harm) == [], harm

    return test


@in_one
async def test_a_record_is_read_as_it_was_stored(transaction: Transaction) -> None:
    summary, workflow = StructuredSummary("a", "b", "c", "d"), WorkflowState("x", ("y",), ("z",))
    qualia = Qualia("#e6e6fa", "soft", intensity=0.8)
    for record in (
        fact(),
        episode(summary=summary, workflow=workflow, tags=("one",)),
        sense(qualia=qualia, features={"words": ["ü", 1]}, physio_snapshot={"d": 0.7}),
        JournalEntry(text="I wonder", trust=Trust.INFERRED, tone="calm", tags=("q",), **COMMON),  # type: ignore[arg-type]
        replace(fact(), extra={"unknown": {"deep": [None, 1.5]}}, valid_until_ms=DAY + 1, why_ended=SUPERSEDED),
    ):
        stored = await put(transaction, record, DAY)
        assert stored == replace(record, id=stored.id, seq=stored.seq, created_ms=DAY)
        assert await get(transaction, stored.id) == stored


@in_one
async def test_ids_count_through_the_day_and_are_never_given_twice(transaction: Transaction) -> None:
    first, second = await put(transaction, episode(), DAY), await put(transaction, episode(), DAY)
    assert (first.id, second.id) == ("EP_20260128_001", "EP_20260128_002")
    await forget(transaction, [second.id], DAY, "asked")
    assert (await put(transaction, episode(), DAY)).id == "EP_20260128_003"
    later = await put(transaction, replace(episode(), at_ms=DAY + 86_400_000), DAY)
    assert later.id == "EP_20260129_001"
    assert (await put(transaction, sense(), DAY)).id == "SMEM_20260128_001"
    assert (await put(transaction, core(), DAY)).id == "core_001"
    assert (await put(transaction, fact(), DAY)).id.startswith("sem_")
    await transaction.run("UPDATE record_ids SET last = 999")
    assert (await put(transaction, episode(), DAY)).id == "EP_20260128_1000"


async def test_a_link_to_nothing_is_refused_and_nothing_is_written(database: Database, path: Path) -> None:
    await room(database)
    with pytest.raises(BrokenLink, match="no record TU_7"):
        await database.write(
            lambda transaction: put(transaction, fact(), DAY, [Link("", Relation.EVIDENCE, "TU_7", "I work")])
        )
    assert look(path, "SELECT id FROM records") == []
    assert look(path, "SELECT object FROM ledger") == []


async def test_a_changed_record_is_found_by_its_new_words_alone_and_the_journal_by_none(database: Database) -> None:
    async def unit(transaction: Transaction) -> None:
        stored = await put(transaction, fact(), DAY)
        await change(transaction, stored.id, DAY, text="Ann works on shipping")
        await put(transaction, JournalEntry(text="I wonder", trust=Trust.INFERRED, **COMMON), DAY)  # type: ignore[arg-type]
        with pytest.raises(NoSuchRecord):
            await change(transaction, "sem_00000000", DAY, text="x")

    await in_one(unit)(database)
    assert look(database.path, "SELECT words FROM record_words") == [("ann works on shipping",)]


@in_one
async def test_a_fact_goes_with_its_last_quotation(transaction: Transaction) -> None:
    first, second = await said(transaction), await said(transaction)
    links = [Link("", Relation.EVIDENCE, one, "I work on billing") for one in (first, second)]
    stored = await put(transaction, fact(), DAY, links)
    assert await forget(transaction, [first], DAY, "deleted") == []
    assert [one.target for one in await links_from(transaction, stored.id)] == [second]
    assert await forget(transaction, [second], DAY, "deleted") == [stored.id]
    assert await get(transaction, stored.id) is None


@in_one
async def test_an_episode_that_loses_a_turn_loses_its_words_and_so_does_its_core(transaction: Transaction) -> None:
    first, second = await said(transaction), await said(transaction)
    refs = [Link("", Relation.TURN_REFS, one) for one in (first, second)]
    visit = await put(transaction, episode(state="distilled", cues=("billing",)), DAY, refs)
    undone = await put(transaction, core(), DAY, [Link("", Relation.SOURCES, visit.id)])
    assert await forget(transaction, [undone.id], DAY, "undone") == [undone.id]
    left = await select(transaction, Episode, "1")
    assert [(one.state, one.text) for one in left] == [("closed", visit.text)], "it may be distilled again"
    made = await put(transaction, core(), DAY, [Link("", Relation.SOURCES, visit.id)])
    assert await forget(transaction, [first], DAY, "deleted") == []
    emptied = await select(transaction, Episode, "r.text = ''")
    assert [(one.id, one.state, one.cues) for one in emptied] == [(visit.id, "closing", ())]
    assert [one.text for one in await select(transaction, Core, "1")] == [""]
    assert set(await forget(transaction, [second], DAY, "deleted")) == {visit.id, made.id}


@in_one
async def test_a_reworded_turn_stays_in_its_visit_and_proves_nothing_any_more(transaction: Transaction) -> None:
    turn = await said(transaction)
    visit = await put(transaction, episode(state="closed"), DAY, [Link("", Relation.TURN_REFS, turn)])
    proved = await put(transaction, fact(), DAY, [Link("", Relation.EVIDENCE, turn, "I work on billing")])
    assert await forget(transaction, [turn], DAY, "edited", reworded=True) == [proved.id]
    assert [one.target for one in await links_from(transaction, visit.id)] == [turn]
    assert [(one.state, one.text) for one in await select(transaction, Episode, "1")] == [("closing", "")]


@in_one
async def test_facts_and_senses_are_tied_to_their_visit_and_each_other_by_turns(transaction: Transaction) -> None:
    first, second = await said(transaction), await said(transaction)
    visit = await put(transaction, episode(), DAY, [Link("", Relation.TURN_REFS, one) for one in (first, second)])
    seen = await put(transaction, sense(), DAY, [Link("", Relation.EVIDENCE, first)])
    known = await put(transaction, fact(), DAY, [Link("", Relation.EVIDENCE, first, "I work on billing")])
    await link(transaction, [Link(known.id, Relation.EVIDENCE, await said(transaction), "I work on billing")], DAY)
    assert [one.target for one in await links_from(transaction, known.id, Relation.EPISODE_REFS)] == [visit.id]
    assert [one.target for one in await links_from(transaction, seen.id, Relation.EPISODE_ID)] == [visit.id]
    await cross_link(transaction, [first], DAY)
    assert [one.target for one in await links_from(transaction, seen.id, Relation.CONCEPT_REFS)] == [known.id]
    await forget(transaction, [first], DAY, "deleted")
    assert await links_from(transaction, known.id, Relation.EPISODE_REFS) == []


@pytest.mark.slow
@in_one
async def test_a_chain_of_visits_of_years_is_emptied_link_by_link(transaction: Transaction) -> None:
    """Each visit inherited from the one before; so deep a recursion would end the daemon."""

    first, other = await said(transaction), await said(transaction)
    before = await put(
        transaction, episode(state="closed"), DAY, [Link("", Relation.TURN_REFS, one) for one in (first, other)]
    )
    for _ in range(1_200):
        links = [Link("", Relation.SOURCES, before.id), Link("", Relation.TURN_REFS, other)]
        before = await put(transaction, episode(state="closed"), DAY, links)
    await forget(transaction, [first], DAY, "deleted")
    assert await select(transaction, Episode, "r.text <> ''") == []


@in_one
async def test_a_superseded_fact_holds_again_when_the_newer_one_is_forgotten_unless_that_was_retired(
    transaction: Transaction,
) -> None:
    old, middle, new = [await put(transaction, fact(line), DAY) for line in ("old", "middle", "new")]
    for newer, older in ((middle, old), (new, middle)):
        await change(transaction, older.id, DAY, valid_until_ms=DAY, why_ended=SUPERSEDED)
        await put(transaction, fact(), DAY, [Link(newer.id, Relation.SUPERSEDES, older.id)])
    await forget(transaction, [middle.id], DAY, "wrong")
    assert [one.target for one in await links_from(transaction, new.id)] == [old.id]
    await forget(transaction, [new.id], DAY, "wrong")
    assert await get(transaction, old.id) == old
    old, new = [await put(transaction, fact(line), DAY) for line in ("lives in Rome", "lives in Oslo")]
    ended = await change(transaction, old.id, DAY, valid_until_ms=DAY, why_ended=SUPERSEDED)
    await put(transaction, fact(), DAY, [Link(new.id, Relation.SUPERSEDES, old.id)])
    await change(transaction, new.id, DAY, valid_until_ms=DAY + 1, why_ended="retired")
    await forget(transaction, [new.id], DAY, "deleted")
    assert await get(transaction, old.id) == ended


async def test_a_record_that_can_not_be_read_hides_no_other_and_can_be_forgotten(database: Database) -> None:
    async def unit(transaction: Transaction) -> None:
        other = await put(transaction, fact("sings"), DAY)
        for harm in (
            "UPDATE records SET extra = '{' WHERE id = :id",
            "UPDATE records SET audience = 'nobody' WHERE id = :id",
            "DELETE FROM facts WHERE id = :id",
        ):
            turn = await said(transaction)
            harmed = await put(transaction, fact(), DAY, [Link("", Relation.EVIDENCE, turn, "I work on billing")])
            await transaction.run(harm, id=harmed.id)
            assert await select(transaction, Fact, "true") == [other], harm
            assert await forget(transaction, [turn], DAY, "deleted") == [harmed.id], harm

    await in_one(unit)(database)
    assert look(database.path, "SELECT text FROM records") == [("sings",)]
    assert look(database.path, "SELECT words FROM record_words") == [("sings",)]


@in_one
async def test_an_unreadable_visit_goes_with_any_of_its_words_and_its_core_is_emptied(transaction: Transaction) -> None:
    first, second = await said(transaction), await said(transaction)
    refs = [Link("", Relation.TURN_REFS, one) for one in (first, second)]
    visits = [await put(transaction, episode(state="distilled"), DAY, refs) for _ in range(2)]
    made = await put(transaction, core(), DAY, [Link("", Relation.SOURCES, one.id) for one in visits])
    await transaction.run("UPDATE episodes SET situation = '{' WHERE id = :id", id=visits[0].id)
    await forget(transaction, [first], DAY, "deleted")
    assert [(one.id, one.text) for one in await select(transaction, Episode, "true")] == [(visits[1].id, "")]
    assert [(one.id, one.text) for one in await select(transaction, Core, "true")] == [(made.id, "")]


async def test_a_tampered_ledger_shows_and_a_forgotten_record_does_not(database: Database, path: Path) -> None:
    async def unit(transaction: Transaction) -> None:
        stored = await put(transaction, fact(), DAY)
        await put(transaction, fact("another"), DAY)
        await forget(transaction, [stored.id], DAY, "asked")

    await in_one(unit)(database)
    assert await ledger.broken_at(database) is None
    assert look(path, "SELECT count(*) FROM ledger WHERE salt <> ''") == [(1,)]
    poke(path, "UPDATE ledger SET object = 'sem_11111111' WHERE seq = 2")
    assert await ledger.broken_at(database) == 2


async def test_qualia_that_can_not_be_read_are_none(database: Database) -> None:
    await room(database)
    await database.write(lambda transaction: put(transaction, sense(qualia=Qualia("#e6e6fa"), conversation=str(DM)), 1))
    newest = NewestQualia(database)
    assert await newest.newest(DM, 0) == Qualia("#e6e6fa")
    for odd in ('{"intensity": "high"}', "[1]", "no JSON"):
        poke(database.path, "UPDATE senses SET qualia = ?", odd)
        assert await newest.newest(DM, 0) is None, odd
