"""The soul engine: states and their reasons, models of people, moods, intentions, permissions, the library."""

from alembic import op

revision = "0002"
down_revision = "0001"

CHANGES = (
    # What the current process was entered with and keeps in mind; the visit that is going on.
    "ALTER TABLE conversations ADD COLUMN previous TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE conversations ADD COLUMN invocations INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE conversations ADD COLUMN params TEXT NOT NULL DEFAULT '{}'",
    "ALTER TABLE conversations ADD COLUMN kept TEXT NOT NULL DEFAULT '{}'",
    "ALTER TABLE conversations ADD COLUMN visit INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE conversations ADD COLUMN exchanges INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE conversations ADD COLUMN spoken_ms INTEGER NOT NULL DEFAULT 0",
    # What reached the soul otherwise than as words.
    """
    ALTER TABLE inbox ADD COLUMN modality TEXT NOT NULL DEFAULT 'words'
      CHECK (modality IN ('words', 'time', 'decision'))
    """,
    "ALTER TABLE inbox ADD COLUMN process TEXT",
    "ALTER TABLE inbox ADD COLUMN params TEXT NOT NULL DEFAULT '{}'",
    "CREATE INDEX inbox_by_message ON inbox (workspace, channel, ts)",
    "CREATE INDEX inbox_over_http ON inbox (conversation, envelope) WHERE channel = 'http'",
    # A question for permission under a post, and posts that replace an earlier one.
    "ALTER TABLE outbox ADD COLUMN approval TEXT",
    "ALTER TABLE outbox ADD COLUMN revises TEXT",
    # The turn after which a job was to be done: it yields to a newer one.
    "ALTER TABLE jobs ADD COLUMN turn INTEGER NOT NULL DEFAULT 0",
    """
    CREATE TABLE transitions (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
      trace_id TEXT NOT NULL,
      hop INTEGER NOT NULL,                      -- within one perception, from 0
      act TEXT NOT NULL CHECK (act IN ('enter', 'stay', 'move', 'visit', 'return', 'refuse')),
      origin TEXT NOT NULL,                      -- the process before
      target TEXT NOT NULL,
      decided_by TEXT NOT NULL CHECK (decided_by IN ('rule', 'model', 'schedule')),
      reason TEXT NOT NULL,
      params TEXT NOT NULL DEFAULT '{}',
      at_ms INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX transitions_by_conversation ON transitions (conversation, seq)",
    """
    CREATE TABLE user_models (
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      person TEXT NOT NULL,                      -- platform id
      audience TEXT NOT NULL,                    -- who may ever hear what stands here
      version INTEGER NOT NULL,
      name TEXT NOT NULL,
      notes TEXT NOT NULL DEFAULT '[]',          -- JSON list of lines
      whispers TEXT NOT NULL DEFAULT '',
      visits INTEGER NOT NULL DEFAULT 0,
      interactions INTEGER NOT NULL DEFAULT 0,
      seen_ms INTEGER NOT NULL DEFAULT 0,        -- when they last spoke here
      modelled_to INTEGER NOT NULL DEFAULT 0,    -- seq of the newest turn that the notes know of
      updated_ms INTEGER NOT NULL,
      PRIMARY KEY (soul, workspace, person, audience)
    ) STRICT
    """,
    """
    CREATE TABLE user_model_history (
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      person TEXT NOT NULL,
      audience TEXT NOT NULL,
      version INTEGER NOT NULL,
      notes TEXT NOT NULL,
      whispers TEXT NOT NULL,
      change TEXT NOT NULL,                      -- JSON: what was added, corrected, retired
      trace_id TEXT NOT NULL,
      made_ms INTEGER NOT NULL,
      PRIMARY KEY (soul, workspace, person, audience, version)
    ) STRICT
    """,
    """
    CREATE TABLE soul_state (
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      audience TEXT NOT NULL,                    -- topic and task are told to nobody else
      version INTEGER NOT NULL,
      emotional_state TEXT NOT NULL,
      felt_ms INTEGER NOT NULL,                  -- since when; it fades
      topic TEXT NOT NULL DEFAULT '',
      task TEXT NOT NULL DEFAULT '',
      updated_ms INTEGER NOT NULL,
      PRIMARY KEY (soul, workspace, audience)
    ) STRICT
    """,
    """
    CREATE TABLE intentions (
      id TEXT PRIMARY KEY,
      conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      slot TEXT NOT NULL,                        -- one waiting intention a slot; a new one takes its place
      due_ms INTEGER NOT NULL,
      every TEXT NOT NULL DEFAULT '',            -- crontab of a recurring one, empty for once
      process TEXT NOT NULL,
      params TEXT NOT NULL DEFAULT '{}',
      content TEXT NOT NULL DEFAULT '',
      behalf TEXT NOT NULL,                      -- platform id of whom it is done for; the gate is asked about them
      place TEXT NOT NULL,
      audience TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('waiting', 'due', 'cancelled')),
      reason TEXT NOT NULL DEFAULT '',
      fired INTEGER NOT NULL DEFAULT 0,
      created_ms INTEGER NOT NULL,
      settled_ms INTEGER
    ) STRICT
    """,
    "CREATE UNIQUE INDEX intentions_slots ON intentions (conversation, slot) WHERE state = 'waiting'",
    "CREATE INDEX intentions_by_conversation ON intentions (conversation)",
    "CREATE INDEX intentions_due ON intentions (soul, workspace, due_ms) WHERE state = 'waiting'",
    """
    CREATE TABLE approvals (
      id TEXT PRIMARY KEY,                       -- what the buttons carry
      conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      turn INTEGER NOT NULL,                     -- version of the conversation whose reply asks
      tool TEXT NOT NULL,
      arguments TEXT NOT NULL,                   -- JSON, exactly what will be done
      asked TEXT NOT NULL,                       -- JSON list of the platform ids that may decide
      audience TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN
        ('waiting', 'approved', 'refused', 'expired', 'using', 'used', 'failed', 'unknown')),
      expires_ms INTEGER NOT NULL,
      decided_by TEXT NOT NULL DEFAULT '',
      decided_ms INTEGER,
      created_ms INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX approvals_waiting ON approvals (soul, workspace, expires_ms) WHERE state = 'waiting'",
    """
    CREATE TABLE library_files (
      path TEXT PRIMARY KEY,                     -- as it is cited: folder/inside/it
      stamp TEXT NOT NULL,                       -- size and time of the file when it was read
      indexed_ms INTEGER NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE library_passages (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      path TEXT NOT NULL REFERENCES library_files (path) ON DELETE CASCADE,
      line INTEGER NOT NULL,                     -- where it begins
      body TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX library_passages_by_path ON library_passages (path)",
    "CREATE VIRTUAL TABLE library_index USING fts5 (body, content='library_passages', content_rowid='seq')",
)


def upgrade() -> None:
    """Make the changes, in order."""
    for statement in CHANGES:
        op.execute(statement)
