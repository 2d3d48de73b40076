"""A memory.db with very many rows of ordinary length, made by a few statements of SQL."""

from contextlib import closing
from pathlib import Path

from daemon.memory.database import schema
from daemon.memory.database.sqlite import sqlite3
from tests.given import SOUL, TEAM
from tests.indexing import index_turns

BEGAN_MS = 1_700_000_000_000
EVERY_MS = 30_000  # between two messages
NEWEST = "C0"
"""The channel of the newest conversation; the first conversation is the DM with the most turns."""

_ROOM = f"'{SOUL}/{TEAM}/'"
_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < :rows - 1)"
_TIME = f"({BEGAN_MS} + i * {EVERY_MS})"
_LATER = f"({_TIME} + 1800000 + :rows * {EVERY_MS})"  # after the newest message
_TS = f"printf('%.6f', {_TIME} / 1000.0)"
# One row in two belongs to one long DM, the others to a thread each, so that both kinds of growth are there.
_CHANNEL = "CASE WHEN i % 2 = 0 THEN 'D1' ELSE 'C' || (i % 300) END"
_THREAD = f"CASE WHEN i % 2 = 0 THEN '' ELSE {_TS} END"
_CONVERSATION = f"{_ROOM} || {_CHANNEL} || '/' || {_THREAD}"
_AUDIENCE = f"CASE WHEN i % 2 = 0 THEN 'dm:D1' ELSE 'workspace:{TEAM}' END"
_PERSON = "'U' || (i % 200)"
_OWNER = f"'{SOUL}', '{TEAM}'"

_FILL = (
    f"""
    INSERT OR IGNORE INTO conversations (id, soul, workspace, channel, thread, place, audience, last_ms, taking_part)
    SELECT {_CONVERSATION}, {_OWNER}, {_CHANNEL}, {_THREAD}, CASE WHEN i % 2 = 0 THEN 'dm' ELSE 'thread' END,
           {_AUDIENCE}, {_TIME}, 1 FROM n WHERE i % 2 = 1 OR i = 0
    """,
    f"""
    INSERT INTO inbox (id, soul, workspace, channel, ts, conversation, author, place, audience, body, source, state,
                       received_ms, settled_ms, answered_by, envelope)
    SELECT {_ROOM} || {_CHANNEL} || '/' || {_TS}, {_OWNER}, {_CHANNEL}, {_TS}, {_CONVERSATION}, {_PERSON},
           CASE WHEN i % 2 = 0 THEN 'dm' ELSE 'thread' END, {_AUDIENCE}, :asked, 'live', 'answered', {_TIME},
           {_TIME} + 2000, {_CONVERSATION} || '@' || i || '#0', :envelope FROM n
    """,
    f"""
    INSERT INTO turns (conversation, speaker, author, name, ts, body, thought, audience, trace_id, said_ms)
    SELECT {_CONVERSATION}, CASE WHEN s THEN 'soul' ELSE 'person' END, CASE WHEN s THEN '{SOUL}' ELSE {_PERSON} END,
           'Ada', {_TS}, CASE WHEN s THEN :answered ELSE :asked END, CASE WHEN s THEN :thought ELSE '{{}}' END,
           {_AUDIENCE}, 't' || i, {_TIME} FROM n, (SELECT 0 AS s UNION ALL SELECT 1) ORDER BY i, s
    """,
    f"""
    INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient, newer_than_ts,
                        audience, state, platform_ts, created_ms, settled_ms)
    SELECT {_CONVERSATION} || '@' || i || '#0', {_CONVERSATION}, {_OWNER}, 0, 1, :answered, {_THREAD}, {_PERSON}, {_TS},
           {_AUDIENCE}, 'sent', {_TS} || '9', {_TIME} + 1000, {_TIME} + 2000 FROM n
    """,
    f"""
    INSERT INTO thoughts (id, soul, workspace, conversation, audience, readers, trace_id, previous, at_ms, occasion,
                          process, asked, degraded, spoke, did, refused, calls, tokens_in, tokens_out, cost_usd, saw_to,
                          passing, input, output)
    SELECT 'TH_' || i, {_OWNER}, {_CONVERSATION}, {_AUDIENCE}, '{{}}', 't' || i, '', {_TIME}, 'words', 'engaged',
           i % 4 = 3, i = :rows - 1, 1, '{{}}', '[]', 1, 900, 80, 0.01, 2 * i, 0,
           CASE WHEN i % 4 = 3 THEN '{{}}' ELSE '' END, :thought FROM n WHERE i % 2 = 1
    """,
    f"""
    INSERT INTO goals (soul, id, workspace, conversation, audience, readers, behalf, goal, same_words, priority, state,
                       follow_up, due_ms, created_ms, touched_ms, why, thought, changed_by)
    SELECT '{SOUL}', 'G' || i, '{TEAM}', {_CONVERSATION}, {_AUDIENCE}, '{{}}', {_PERSON}, 'a goal', 'a goal', 0.5,
           CASE WHEN i % 20 = 1 THEN 'open' ELSE 'done' END, 0, {_LATER}, {_TIME}, {_TIME}, '', 'TH_' || i, 'TH_' || i
    FROM n WHERE i % 10 = 1
    """,
    f"""
    INSERT INTO ticks (soul, workspace, conversation, kind, about, due_ms)
    SELECT {_OWNER}, {_CONVERSATION}, 'due', 'G' || i, {_LATER} FROM n WHERE i % 20 = 1
    """,
    f"""
    INSERT INTO transitions (conversation, trace_id, hop, act, origin, target, decided_by, reason, at_ms)
    SELECT {_CONVERSATION}, 't' || i, 0, 'stay', 'engaged', 'engaged', 'rule', 'nothing leads elsewhere', {_TIME}
    FROM n WHERE i % 3 = 1
    """,
    f"""
    INSERT INTO llm_calls (trace_id, role, step, model, tokens_in, tokens_cached, tokens_out, cost_usd, started_ms,
                           first_ms, latency_ms, outcome)
    SELECT 't' || i, 'persona', 'external_dialog', 'vendor/model', 2000, 1500, 120, 0.004, {_TIME}, 300, 900, 'ok'
    FROM n WHERE i % 3 = 1
    """,
    f"""
    INSERT INTO jobs (kind, conversation, soul, workspace, state, created_ms, settled_ms, turn)
    SELECT 'models_the_visitor', {_CONVERSATION}, {_OWNER}, 'done', {_TIME}, {_TIME} + 3000, i FROM n WHERE i % 3 = 1
    """,
    f"""
    INSERT INTO intentions (id, conversation, soul, workspace, slot, due_ms, process, behalf, place, audience, state,
                            created_ms, settled_ms)
    SELECT 'i' || i, {_CONVERSATION}, {_OWNER}, CASE WHEN i % 4 = 1 THEN 'idle' ELSE 's' || i END,
           {_LATER}, 'dormant', {_PERSON}, 'thread', {_AUDIENCE},
           CASE WHEN i % 4 = 1 THEN 'waiting' ELSE 'due' END, {_TIME}, {_TIME} + 1 FROM n WHERE i % 3 = 1
    """,
    f"""
    INSERT INTO approvals (id, conversation, soul, workspace, turn, tool, arguments, asked, audience, state, expires_ms,
                           created_ms)
    SELECT 'a' || i, {_CONVERSATION}, {_OWNER}, i, 'wiki/write', '{{}}', '["U1"]', {_AUDIENCE}, 'used',
           {_TIME} + 900000, {_TIME} FROM n WHERE i % 10 = 0
    """,
    f"INSERT INTO deliveries SELECT {_OWNER}, 'Ev' || i, {_TIME} FROM n WHERE i % 3 = 1",
    f"""
    INSERT INTO user_models (soul, workspace, person, audience, version, name, seen_ms, updated_ms)
    SELECT {_OWNER}, 'P' || i, {_AUDIENCE}, 1, 'Ada', {_TIME}, {_TIME} FROM n WHERE i % 5 = 0
    """,
    f"""
    INSERT INTO records (id, kind, soul, workspace, audience, channel, person, trust, significance, text, at_ms,
                         created_ms, updated_ms)
    SELECT 'sem_' || i, 'fact', {_OWNER}, {_AUDIENCE}, 'D1', 'P' || i, 'own', 5, 'likes blue', {_TIME}, {_TIME}, {_TIME}
    FROM n WHERE i % 5 = 0
    """,
    f"""
    INSERT INTO facts (id, subject, predicate, object, topic, confidence, valid_from_ms)
    SELECT 'sem_' || i, 'P' || i, 'likes', 'blue', 'preference', 0.9, {_TIME} FROM n WHERE i % 5 = 0
    """,
    f"""
    INSERT INTO user_model_history (soul, workspace, person, audience, version, notes, whispers, change, trace_id,
                                    made_ms)
    SELECT {_OWNER}, 'P' || (i % 1000), {_AUDIENCE}, i, '[]', '', '{{}}', 't', {_TIME} FROM n WHERE i % 3 = 1
    """,
)


def fill(path: Path, rows: int, *, words: int = 1) -> None:
    """Make a memory.db that has seen so many messages; at 30 words and more a message takes what an ordinary one does.

    Half of the messages stand in one DM, of the others each begins a thread; nothing of it waits.
    """
    schema.migrate(path)
    values = {
        "rows": rows,
        "asked": "six by " * words,
        "answered": "twenty one " * words * 2,
        "thought": '{"internal_monologue": "' + "hm, so " * words + '"}',
        "envelope": '{"text": "' + "six by " * words + '"}',
    }
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in ("synchronous=OFF", "cache_size=-400000", "foreign_keys=OFF"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN")
        indexes = _drop_indexes(connection)
        for statement in _FILL:
            connection.execute(_with_numbers(statement), values)
        index_turns(connection)
        for index in indexes:
            connection.execute(index)
        connection.execute("COMMIT")


def last_ms(rows: int) -> int:
    return BEGAN_MS + rows * EVERY_MS


def _with_numbers(statement: str) -> str:
    select = statement.index("SELECT")
    return f"{statement[:select]} {_NUMBERS} {statement[select:]}"


def _drop_indexes(connection: sqlite3.Connection) -> list[str]:
    """Building an index over all rows at once is several times faster than keeping it up with each of them.

    Those of `turns` stay: its triggers look a conversation's last turn up with each new one.
    """
    found = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND tbl_name <> 'turns'"
    ).fetchall()
    for name, _ in found:
        connection.execute(f"DROP INDEX {name}")
    return [sql for _, sql in found]
