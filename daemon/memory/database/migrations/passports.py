"""What schema 6 adds for passports: what they bring that is unknown here, their mirror, whose words were shown."""

from typing import Final

from daemon.memory.database.migrations.mirror import MIRROR

PASSPORT: Final[tuple[str, ...]] = (
    # Turns that a passport brought under another id than their number gives, or with fields that are unknown here.
    """
    CREATE TABLE passport_turns (
      seq INTEGER PRIMARY KEY REFERENCES turns (seq) ON DELETE CASCADE,
      id TEXT NOT NULL UNIQUE,
      extra TEXT NOT NULL DEFAULT '{}'           -- JSON
    ) STRICT
    """,
    # Other words have none of the unknown fields of those before, which may say the same again.
    """
    CREATE TRIGGER turn_reworded AFTER UPDATE OF body ON turns WHEN OLD.body <> NEW.body
    BEGIN
      UPDATE passport_turns SET extra = '{}' WHERE seq = NEW.seq;
    END
    """,
    # Fields of a summary that a passport brought and that are unknown here; a new summary has none.
    """
    CREATE TABLE passport_summaries (
      conversation TEXT PRIMARY KEY REFERENCES working_memory (conversation) ON DELETE CASCADE,
      extra TEXT NOT NULL                        -- JSON
    ) STRICT
    """,
    """
    CREATE TRIGGER summary_made_anew AFTER UPDATE OF summary ON working_memory
    BEGIN
      DELETE FROM passport_summaries WHERE conversation = NEW.conversation;
    END
    """,
    # What an import has stored and not linked to the end: a second run finishes it.
    "CREATE TABLE passport_unfinished (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID",
    # Whose words were shown to an admin, and when the soul may tell them of it: once a day at most.
    """
    CREATE TABLE word_readings (
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      person TEXT NOT NULL,                      -- platform id
      first_ms INTEGER,                          -- the first time since they were told last; NULL: they know it all
      last_ms INTEGER NOT NULL,
      next_ms INTEGER NOT NULL,                  -- when they may be told
      PRIMARY KEY (soul, workspace, person)
    ) STRICT
    """,
    "CREATE INDEX word_readings_to_tell ON word_readings (soul, workspace, next_ms) WHERE first_ms IS NOT NULL",
    *MIRROR,
)
