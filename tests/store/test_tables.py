"""Each table says what it holds of people, and a person who is forgotten is left in none."""

import random
from contextlib import closing
from pathlib import Path

import pytest

from daemon.memory.database import open_database
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.records.ledger import broken_at
from daemon.memory.people.forgetting import ForgettingPeople
from daemon.memory.people.residues import residues as counted_residues
from daemon.memory.tables import TABLES
from tests.fakes import Events, FakeClock
from tests.given import TEAM
from tests.residues import residues
from tests.store.every_table import fill_for, schema_of
from tests.store.parts import look

ADA, BEN = "U0ADA", "U0BEN"
WORDS = {BEN: "weave", ADA: "quincunx"}
SAID_BY_PROGRAMS = {"awareness.state", "source_events.words"}
MADE_AGAIN = {  # of what both said in their room
    *("conversation_topics", "conversations", "goals", "mind_documents", "predictions", "soul_state", "thoughts"),
    *("standing_questions", "user_model_history", "user_models", "working_memory"),
}
NO_WORDS = """
    about accepted act addressee answered_by answers app approval asked asked_where audience cap_shown_day chain
    channel code companion context_key conversation covers_to cue data_type dates day decided_by did digest document
    epistemic_mode errand event event_id every fault felt_by file fingerprint fired_day former front function gone
    granted_by handed_to hash heard_in holder host how id inbox joins key kind lease_owner mark media_type member
    message message_id modality model newer_than_ts newest nod nod_to nonce occasion offered origin outbox outcome
    paid_by part path paused perceived_by permission_mode persona_id place places platform_ts posts previous process
    quiet raw_data_ref readers receiver recent record refused relation reply_to resume revises role room run said_in
    said_ts salt scored_by secret sender sense series server session session_id sibling signing since slot soul spared
    speaker sqlite stamp state step stopped stores streams target teller thought thread tool trace_id trust ts value
    version visibility waiting_person why_ended workspace writers zone app bytes who author behalf changed_by owner
    source post
"""
"""Columns that hold ids, codes, states and numbers in every table; those of one table alone follow."""
NO_WORDS_HERE = """
    consolidation_changes.object consolidation_items.object consolidation_items.reason consolidations.error
    audit.detail distrusted_indexes.name duties.name alarms.name erased_words.name event_sources.name facts.topic
    index_sizes.name jobs.reason ledger.object ledger.reason mind_authority.why mind_authority_history.why
    model_habits.name predictions.goal presence.detail room_news.subject shown_facts.facts
    ticks.said tick_counts.reason tools.name
"""


def _columns(example: sqlite3.Connection, table: str) -> dict[str, str]:
    return {row[1]: row[2] for row in example.execute(f"PRAGMA table_info({table})")}


def test_every_table_is_declared_and_every_text_in_it() -> None:
    with closing(sqlite3.connect("file:memory.db.example?mode=ro", uri=True)) as example:
        schema = schema_of(example)
        assert sorted(schema) == sorted(one.name for one in TABLES)
        unknown, undeclared = set[str](), set[str]()
        for one in TABLES:
            columns, said = _columns(example, one.name), set(f"{one.of} {one.names} {one.words}".split())
            unknown |= {f"{one.name}.{name}" for name in (*said, one.key) if name not in columns and name != "id"}
            texts = {name for name, kind in columns.items() if kind == "TEXT"} - said - set(NO_WORDS.split())
            undeclared |= {f"{one.name}.{name}" for name in texts}
    assert not unknown
    assert undeclared - set(NO_WORDS_HERE.split()) == set()


@pytest.mark.parametrize("seed", range(3))
async def test_nothing_of_a_forgotten_person_is_left_in_any_table_and_others_keep_theirs(
    path: Path, clock: FakeClock, seed: int
) -> None:
    async with open_database(path, clock) as database:
        with closing(sqlite3.connect(path, isolation_level=None)) as filling:
            filling.execute("PRAGMA foreign_keys = ON")
            fill_for(filling, WORDS, random.Random(seed))
        theirs = {table.name: _rows(path, table.name, BEN, WORDS[BEN]) for table in TABLES}
        forgetting = ForgettingPeople(database, FakeClock(auto=True), Events(), path.parent, path.parent / "index")
        await forgetting.finish(await forgetting.ask(TEAM, ADA))
        found = residues(path.parent, ADA, WORDS[ADA])
        assert {one.partition(":")[0] for one in found if not one.startswith("memory.db")} - SAID_BY_PROGRAMS == set()
        assert await counted_residues(database, path.parent, TEAM, ADA, ()) == 0
        assert await broken_at(database) is None, "the ledger's chain stays whole"
    changed = {name for name, rows in theirs.items() if not rows <= _rows(path, name, BEN, WORDS[BEN])}
    assert changed - MADE_AGAIN == set()


def _rows(path: Path, table: str, *marks: str) -> set[tuple[object, ...]]:
    """The rows that hold one of the marks."""
    return {
        row for row in look(path, f"SELECT * FROM {table}") if any(mark in str(one) for mark in marks for one in row)
    }
