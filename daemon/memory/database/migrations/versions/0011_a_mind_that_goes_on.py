"""A mind that goes on: what a soul holds beside its stream of thought."""

from alembic import op

revision = "0011"
down_revision = "0010"

CHANGES: tuple[str, ...] = (
    "CREATE INDEX thoughts_that_saw ON thoughts (conversation, saw_to) WHERE emptied = 0",
    # A message that surely was meant for the soul: a direct message, or a mention.
    "ALTER TABLE inbox ADD COLUMN addressed INTEGER NOT NULL DEFAULT 1 CHECK (addressed IN (0, 1))",
    # An answer without words: the name of an emoji, and the ts of the message that bears it.
    "ALTER TABLE outbox ADD COLUMN nod TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE outbox ADD COLUMN nod_to TEXT NOT NULL DEFAULT ''",
    # What a soul means to do. Goals are numbered for each soul: G1, G2. `readers`: before whom it was made, as with a
    # thought. An open one that is untouched for long is stale; `stale_shown` says that a thought was shown it as such.
    """
    CREATE TABLE goals (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      soul TEXT NOT NULL,
      id TEXT NOT NULL,
      workspace TEXT NOT NULL,
      conversation TEXT NOT NULL,
      audience TEXT NOT NULL,
      readers TEXT NOT NULL,                     -- JSON
      behalf TEXT NOT NULL,                      -- the person for whom it was made, '' for none
      goal TEXT NOT NULL,
      same_words TEXT NOT NULL,                  -- the goal in small letters and without marks, to know it again
      priority REAL NOT NULL CHECK (priority BETWEEN 0 AND 1),
      state TEXT NOT NULL CHECK (state IN ('open', 'done', 'abandoned', 'proposed')),
      follow_up INTEGER NOT NULL CHECK (follow_up IN (0, 1)),
      due_ms INTEGER,
      created_ms INTEGER NOT NULL,
      touched_ms INTEGER NOT NULL,
      closed_ms INTEGER,
      stale_shown INTEGER NOT NULL DEFAULT 0 CHECK (stale_shown IN (0, 1)),
      why TEXT NOT NULL,                         -- of its last change
      thought TEXT NOT NULL,                     -- the thought that made it, '' where an admin did
      changed_by TEXT NOT NULL,                  -- the thought whose words `why` holds
      UNIQUE (soul, id)
    ) STRICT
    """,
    "CREATE INDEX goals_in_force ON goals (soul, workspace, audience, touched_ms) WHERE state = 'open'",
    "CREATE INDEX goals_by_conversation ON goals (conversation)",
    "CREATE INDEX goals_by_thought ON goals (thought)",
    "CREATE INDEX goals_changed_by ON goals (changed_by)",
    "CREATE INDEX goals_by_person ON goals (behalf, workspace)",
    # How much each function of a soul's mind may do by itself, where that was decided or its parts were counted; no
    # row holds anybody's words. `recent` has one sign for each of its newest parts: 1 for a refused one.
    """
    CREATE TABLE mind_authority (
      soul TEXT NOT NULL,
      function TEXT NOT NULL,
      level INTEGER NOT NULL CHECK (level BETWEEN 0 AND 3),
      why TEXT NOT NULL,
      decided_by TEXT NOT NULL,                  -- an admin, 'house', or '' where nothing was decided
      since_ms INTEGER NOT NULL,
      recent TEXT NOT NULL,
      PRIMARY KEY (soul, function)
    ) STRICT
    """,
    """
    CREATE TABLE mind_authority_history (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      soul TEXT NOT NULL,
      function TEXT NOT NULL,
      level_before INTEGER NOT NULL,
      level INTEGER NOT NULL,
      why TEXT NOT NULL,
      decided_by TEXT NOT NULL,
      at_ms INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX proposals_by_conversation ON approvals (conversation) WHERE tool GLOB 'mind.*'",
    "CREATE INDEX proposals_by_soul ON approvals (soul, state) WHERE tool GLOB 'mind.*'",
)


def upgrade() -> None:
    """Append what a mind holds that goes on."""
    for statement in CHANGES:
        op.execute(statement)
