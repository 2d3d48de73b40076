"""What is said in a session of Claude Code is a turn of its own speaker, bounded, and evidence of nothing."""

from alembic import op

from daemon.memory.database.migrations.words_of_sessions import move_words_of_sessions

revision = "0008"
down_revision = "0007"

# A session has its words among those that were said to the soul: their ids begin alike, whoever said them.
_SPEAKERS = "CHECK (speaker IN ('person', 'soul'))"
_AND_SESSIONS = (
    "CHECK (speaker IN ('person', 'soul', 'session') AND (speaker <> 'person' OR author NOT GLOB 'session.*'))"
)
_IDS = ".speaker WHEN 'person' THEN 'TU_' ELSE 'TL_' END"
_THEIR_IDS = ".speaker WHEN 'soul' THEN 'TL_' ELSE 'TU_' END"

CHANGES: tuple[str, ...] = (
    # Forgetting finds what a person and what their sessions said.
    "DROP INDEX turns_by_author",
    "CREATE INDEX turns_by_author ON turns (author, seq)",
    # How people tell their keys apart, and how much was kept with one on its newest day (UTC, since 1970).
    "ALTER TABLE keys ADD COLUMN machine TEXT NOT NULL DEFAULT ''",  # as it called itself when it was paired
    "UPDATE keys SET machine = coalesce((SELECT p.machine FROM pairings p WHERE p.key = keys.id), '')",
    "ALTER TABLE keys ADD COLUMN words_day INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE keys ADD COLUMN words_kept INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE keys ADD COLUMN words_left_out INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE keys ADD COLUMN words_noted INTEGER NOT NULL DEFAULT 0 CHECK (words_noted IN (0, 1))",
    """
    CREATE TRIGGER sessions_prove_nothing BEFORE INSERT ON links
    WHEN NEW.relation = 'evidence' AND EXISTS (
      SELECT 1 FROM turns WHERE seq = CAST(substr(NEW.target, 4) AS INTEGER) AND NEW.target = 'TU_' || seq
        AND speaker = 'session')
    BEGIN
      SELECT RAISE(ABORT, 'what is said in a session proves nothing');
    END
    """,
)


def upgrade() -> None:
    """Let sessions speak, move what they said, and keep it from ever being evidence."""
    connection = op.get_bind()
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    for kind, before, after in (("table", _SPEAKERS, _AND_SESSIONS), ("trigger", _IDS, _THEIR_IDS)):
        connection.exec_driver_sql(
            "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE type = ? AND instr(sql, ?)",
            (before, after, kind, before),
        )
    connection.exec_driver_sql("PRAGMA writable_schema = RESET")
    move_words_of_sessions(connection)
    for statement in CHANGES:
        op.execute(statement)
