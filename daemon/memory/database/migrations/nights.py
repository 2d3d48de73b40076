"""What schema 6 adds for nights: the slots, what was done in each, and by what it is undone."""

NIGHTS: tuple[str, ...] = (
    # The newest slot of each soul's nights: taken by one daemon at a time, and never twice.
    """
    CREATE TABLE consolidation_slots (
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      slot_ms INTEGER NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('open', 'done')),
      by_hand INTEGER NOT NULL DEFAULT 0 CHECK (by_hand IN (0, 1)),
      ordered_ms INTEGER,                        -- when an admin asked for one that is not begun
      tries INTEGER NOT NULL DEFAULT 0,          -- how often audiences that failed were tried again
      not_before INTEGER NOT NULL DEFAULT 0,
      lease_owner TEXT NOT NULL DEFAULT '',
      lease_until INTEGER NOT NULL DEFAULT 0,
      fence INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (soul, workspace)
    ) STRICT, WITHOUT ROWID
    """,
    # What was done in a slot for one audience; only where there was something to do.
    """
    CREATE TABLE consolidations (
      id TEXT PRIMARY KEY,                       -- RUN_20260128_001
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      slot_ms INTEGER NOT NULL,
      audience TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('running', 'done', 'cut', 'failed', 'undone')),
      did TEXT NOT NULL DEFAULT '{}',            -- JSON: number of memories changed, by part
      tokens INTEGER NOT NULL DEFAULT 0,         -- in and out
      error TEXT NOT NULL DEFAULT '',
      began_ms INTEGER NOT NULL,
      ended_ms INTEGER,
      UNIQUE (soul, workspace, slot_ms, audience)
    ) STRICT
    """,
    "CREATE INDEX consolidations_by_age ON consolidations (began_ms)",
    "CREATE INDEX consolidations_by_audience ON consolidations (soul, workspace, audience, began_ms)",
    # By these a run is undone; they hold no words.
    """
    CREATE TABLE consolidation_changes (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      run TEXT NOT NULL REFERENCES consolidations (id) ON DELETE CASCADE,
      unit INTEGER NOT NULL,                     -- changes of one unit are undone together or not at all
      part TEXT NOT NULL,
      act TEXT NOT NULL CHECK (act IN ('put', 'change', 'link', 'quote', 'whispers')),
      object TEXT NOT NULL,
      former TEXT NOT NULL,                      -- JSON: what fields were before, or the other end of a link
      stamp_before INTEGER NOT NULL,             -- the last write to the object before it and after it
      stamp INTEGER NOT NULL,
      lost INTEGER NOT NULL DEFAULT 0            -- a line about a person is gone with it
    ) STRICT
    """,
    "CREATE INDEX consolidation_changes_by_run ON consolidation_changes (run, seq)",
    # What a part has looked at, and what it failed at.
    """
    CREATE TABLE consolidation_items (
      part TEXT NOT NULL,
      object TEXT NOT NULL REFERENCES records (id) ON DELETE CASCADE,
      seen_ms INTEGER,                           -- when it was looked at last; empty: never to the end
      faults INTEGER NOT NULL DEFAULT 0,
      parked INTEGER NOT NULL DEFAULT 0 CHECK (parked IN (0, 1)),
      reason TEXT NOT NULL DEFAULT '',
      PRIMARY KEY (part, object)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX consolidation_items_by_object ON consolidation_items (object)",
    "CREATE INDEX facts_by_audience ON records (soul, workspace, audience, seq) WHERE kind = 'fact'",
    "CREATE INDEX user_models_by_audience ON user_models (soul, workspace, audience)",
)
