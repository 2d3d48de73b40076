"""The sixteenth step: rows of features that are gone are mended, and their tables, columns and triggers go."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from daemon.memory.database import migrate, sqlite
from tests.store.older import make_older
from tests.store.parts import look

_PLANS: Final = (  # id, what it waits for, state
    ("at-a-time", "", "waiting"),
    ("topic", "topic", "waiting"),
    ("person", "person", "waiting"),
    ("silence", "silence", "waiting"),
    ("bare", "silence", "waiting"),
    ("over", "topic", "due"),
)
_GONE: Final = {
    *("cues", "cue_words", "heard_words", "missed_messages", "mirrors", "mirrored_files", "mirror_queue"),
    *("passport_summaries", "passport_extras"),
}


def _rows() -> Iterable[str]:
    """One row of each kind; the mirror has begun, so that its triggers write."""
    yield "INSERT INTO mirrors (only, folder) VALUES (1, 'mirror')"
    yield "INSERT INTO mirrored_files (id, path, digest) VALUES ('I:1', 'IN_1.json', 'd')"
    yield "INSERT INTO passport_extras (id, extra) VALUES ('I:1', '{}')"
    yield """
        INSERT INTO conversations (id, soul, workspace, channel, thread, place, audience, last_ms, locations)
        VALUES ('s/T/D/', 's', 'T', 'D', '', 'dm', 'dm:D', 1, '{"U1": "desk"}')
        """
    for id_, cue, state in _PLANS:
        yield f"""
            INSERT INTO intentions (id, conversation, soul, workspace, slot, due_ms, process, behalf, place, audience,
                                    state, created_ms, cue)
            VALUES ('{id_}', 's/T/D/', 's', 'T', '{id_}', 9000, 'engaged', 'U1', 'dm', 'dm:D', '{state}', 2005, '{cue}')
            """
    for seq, id_, topic, person in ((1, "topic", "bees", ""), (2, "person", "", "U2"), (3, "silence", "", "")):
        yield f"""
            INSERT INTO cues (seq, intention, soul, workspace, topic, person, silence_ms, since_ms, until_ms,
                              fires_left)
            VALUES ({seq}, '{id_}', 's', 'T', '{topic}', '{person}', {60 * (id_ == "silence")}, 1042, 9000, 1)
            """
    yield "INSERT INTO cue_words (soul, workspace, word, cue) VALUES ('s', 'T', 'bees', 1)"
    yield """
        INSERT INTO inbox (id, soul, workspace, channel, ts, conversation, author, place, audience, body, source, state,
                           received_ms, envelope)
        VALUES ('s/T/D/1.0', 's', 'T', 'D', '1.0', 's/T/D/', 'U1', 'dm', 'dm:D', 'hi', 'live', 'stale', 1, '{}')
        """
    yield """
        INSERT INTO missed_messages (id, soul, workspace, person, language)
        VALUES ('s/T/D/1.0', 's', 'T', 'U1', 'en')
        """
    for id_, late in (("offer", 0), ("late-offer", 1)):
        yield f"""
            INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient, newer_than_ts,
                                audience, state, created_ms, answers, late)
            VALUES ('{id_}', 's/T/D/', 's', 'T', 0, 1, '?', '', 'U1', '1.0', 'dm:D', 'sent', 1, '["Yes"]', {late})
            """
    yield """
        INSERT INTO turns (seq, conversation, speaker, author, name, ts, body, audience, trace_id, said_ms)
        VALUES (1, 's/T/D/', 'person', 'U1', 'Ann', '1.0', 'hi', 'dm:D', 't', 1)
        """
    yield "INSERT INTO passport_turns (seq, id, extra) VALUES (1, 'TU_9', '{\"mood\": 1}')"
    yield """
        INSERT INTO working_memory (conversation, version, audience, summary, summarized_to, updated_ms)
        VALUES ('s/T/D/', 1, 'dm:D', 'They greeted', 1, 1)
        """
    yield "INSERT INTO passport_summaries (conversation, extra) VALUES ('s/T/D/', '{}')"
    yield """
        INSERT INTO consolidations (id, soul, workspace, slot_ms, audience, state, began_ms)
        VALUES ('RUN_1', 's', 'T', 1, 'dm:D', 'done', 1)
        """
    for act in ("put", "quote", "whispers"):
        yield f"""
            INSERT INTO consolidation_changes (run, unit, part, act, object, former, stamp_before, stamp)
            VALUES ('RUN_1', 1, 'distils', '{act}', 'sem_1', '{{}}', 0, 1)
            """
    yield """
        INSERT INTO records (seq, id, kind, soul, workspace, audience, channel, conversation, text, at_ms, trust,
                             significance, created_ms, updated_ms)
        VALUES (1, 'sem_1', 'fact', 's', 'T', 'dm:D', 'D', 's/T/D/', 'keeps bees', 1, 'own', 3, 1, 1)
        """
    for part in ("distils", "seeks_quotations", "lets_sink", "refreshes_models"):
        yield f"INSERT INTO consolidation_items (part, object, parked) VALUES ('{part}', 'sem_1', 1)"
    yield """
        INSERT INTO mind_authority (soul, function, level, why, decided_by, since_ms, recent)
        VALUES ('s', 'goals', 3, '', 'ada', 1, ''), ('s', 'memory', 1, '', 'ada', 1, '')
        """
    yield """
        INSERT INTO mind_authority_history (soul, function, level_before, level, why, decided_by, at_ms)
        VALUES ('s', 'goals', 1, 3, '', 'ada', 1), ('s', 'goals', 3, 0, '', 'ada', 2)
        """
    yield "INSERT INTO shared_context (context_key, audience, form, updated_ms) VALUES ('board', 'dm:D', '{}', 1)"
    yield "DELETE FROM vector_queue"


@pytest.fixture
def moved(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of schema 15 with one row of each kind, brought to this schema."""
    make_older(path, monkeypatch, 15, _rows())
    assert migrate.migrate(path)[0] == 15
    return path


@pytest.mark.migrates
def test_what_waits_for_a_topic_or_a_person_is_cancelled_and_an_answer_ends_what_waits_for_a_silence(
    moved: Path,
) -> None:
    waited = "it waited for something that reminders no longer wait for"
    assert look(
        moved, "SELECT id, state, reason, settled_ms > 2005, cue, covers_to FROM intentions ORDER BY rowid"
    ) == [
        ("at-a-time", "waiting", "", None, "", ""),
        ("topic", "cancelled", waited, 1, "", ""),
        ("person", "cancelled", waited, 1, "", ""),
        ("silence", "waiting", "", None, "silence", "1.042000"),
        ("bare", "waiting", "", None, "silence", "2.005000"),
        ("over", "due", "", None, "", ""),
    ]
    assert look(moved, "SELECT id FROM vector_queue ORDER BY id") == [("CU_1",), ("CU_2",), ("CU_3",)]
    with closing(sqlite.connect(moved)) as connection, pytest.raises(sqlite.sqlite3.IntegrityError, match="CHECK"):
        connection.execute("UPDATE intentions SET cue = 'topic'")


@pytest.mark.migrates
def test_late_offers_changes_of_nights_and_level_3_are_mended(moved: Path) -> None:
    assert look(moved, "SELECT id, answers FROM outbox ORDER BY seq") == [("offer", '["Yes"]'), ("late-offer", "")]
    assert look(moved, "SELECT act FROM consolidation_changes") == [("put",)]
    assert look(moved, "SELECT part FROM consolidation_items") == [("distils",)]
    assert look(moved, "SELECT function, level FROM mind_authority ORDER BY function") == [("goals", 2), ("memory", 1)]
    assert look(moved, "SELECT level_before, level FROM mind_authority_history ORDER BY seq") == [(1, 2), (2, 0)]


@pytest.mark.migrates
def test_tables_columns_and_triggers_that_no_code_reads_go_and_rows_around_them_stay(moved: Path) -> None:
    tables = {str(name) for (name,) in look(moved, "SELECT name FROM sqlite_schema WHERE type = 'table'")}
    assert not tables & _GONE
    for table, column in (
        *(("passport_turns", "extra"), ("outbox", "late"), ("shared_context", "form")),
        *(("predictions", "judged_ms"), ("conversations", "locations")),
    ):
        assert look(moved, "SELECT 1 FROM pragma_table_info(?) WHERE name = ?", table, column) == []
    assert look(moved, "SELECT seq, id FROM passport_turns") == [(1, "TU_9")]
    assert look(moved, "SELECT context_key FROM shared_context") == [("board",)]
    with closing(sqlite.connect(moved)) as connection:  # no trigger that is left names what is gone
        for statement in (
            "UPDATE turns SET body = 'hello'",
            "UPDATE working_memory SET summary = ''",
            "UPDATE conversations SET place = 'channel'",
            "UPDATE inbox SET state = 'ignored'",
            "UPDATE intentions SET state = 'due', content = 'bees'",
            "DELETE FROM conversations",
        ):
            connection.execute(statement)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
