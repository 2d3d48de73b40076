"""Drops what no code reads any more: waiting for topics and persons, the mirror's bookkeeping, late offers, level 3."""

from typing import Final

from alembic import op

revision = "0016"
down_revision = "0015"

_NOW: Final = "CAST(strftime('%s', 'now') AS INTEGER) * 1000"

MENDED: Final = (
    f"""
    UPDATE intentions SET state = 'cancelled', reason = 'it waited for something that reminders no longer wait for',
      settled_ms = {_NOW}
    WHERE state = 'waiting' AND cue IN ('topic', 'person')
    """,  # noqa: S608 - a constant
    # An answer counts from when it was asked, as a ts: seconds with six decimals.
    """
    UPDATE intentions SET covers_to = (
      SELECT printf('%d.%03d000', since / 1000, since % 1000) FROM (
        SELECT coalesce((SELECT since_ms FROM cues WHERE intention = intentions.id), created_ms) AS since))
    WHERE state = 'waiting' AND cue = 'silence' AND covers_to = ''
    """,
    "DELETE FROM cues",  # row by row, so that each queues that its vector goes
    "UPDATE outbox SET answers = '' WHERE late = 1",
    "UPDATE mind_authority SET level = 2 WHERE level = 3",
    "UPDATE mind_authority_history SET level = min(level, 2), level_before = min(level_before, 2)",
    "DELETE FROM consolidation_changes WHERE act IN ('quote', 'whispers')",
    "DELETE FROM consolidation_items WHERE part IN ('seeks_quotations', 'lets_sink', 'refreshes_models')",
)
TRIGGERS: Final = (
    *("words_reach_cues", "cues_are_reported", "cues_end_with_their_intention"),
    *("turn_reworded", "summary_made_anew"),
)
_FAMILIES: Final = "name GLOB '*_mirrored' OR name GLOB '*_extras'"
TABLES: Final = (
    *("cue_words", "cues", "heard_words", "missed_messages"),
    *("mirrors", "mirrored_files", "mirror_queue", "passport_summaries", "passport_extras"),
)
COLUMNS: Final = (
    *(("passport_turns", "extra"), ("outbox", "late"), ("shared_context", "form")),
    *(("predictions", "judged_ms"), ("conversations", "locations")),
)
# A column's CHECK goes with the column alone.
NARROWED: Final = (
    "DROP INDEX intentions_silences",
    "DROP INDEX intentions_silent",
    "ALTER TABLE intentions ADD COLUMN awaited TEXT NOT NULL DEFAULT '' CHECK (awaited IN ('', 'silence'))",
    "UPDATE intentions SET awaited = cue WHERE cue = 'silence'",
    "ALTER TABLE intentions DROP COLUMN cue",
    "ALTER TABLE intentions RENAME COLUMN awaited TO cue",
    "CREATE INDEX intentions_silences ON intentions (conversation) WHERE state = 'waiting' AND cue = 'silence'",
)


def upgrade() -> None:
    """Mend the rows first, while what they refer to is there, then drop the triggers before what they name."""
    for statement in MENDED:
        op.execute(statement)
    named = op.get_bind().exec_driver_sql(f"SELECT name FROM sqlite_schema WHERE type = 'trigger' AND ({_FAMILIES})")  # noqa: S608 - a constant
    for trigger in (*TRIGGERS, *named.scalars().all()):
        op.execute(f"DROP TRIGGER {trigger}")
    for table in TABLES:
        op.execute(f"DROP TABLE {table}")
    for table, column in COLUMNS:
        op.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    for statement in NARROWED:
        op.execute(statement)
