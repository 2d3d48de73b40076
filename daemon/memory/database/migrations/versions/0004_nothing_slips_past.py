"""What keeps work moving in bad times: parked rows, catch-up's place, indexes for every hot query, fairness, rooms."""

from alembic import op

revision = "0004"
down_revision = "0003"

# Rows that fail in an unexpected way are counted, and parked.
PARKING: tuple[str, ...] = (
    "ALTER TABLE outbox ADD COLUMN faults INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE jobs ADD COLUMN faults INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE approvals ADD COLUMN faults INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX inbox_dead ON inbox (settled_ms) WHERE state = 'dead'",
    "CREATE INDEX outbox_given_up ON outbox (settled_ms) WHERE state IN ('unknown', 'expired', 'dead')",
    "CREATE INDEX jobs_dead ON jobs (settled_ms) WHERE state = 'dead'",
    # An intention that can't be begun becomes `dead`; SQLite changes a CHECK only with the whole table.
    """
    CREATE TABLE intentions_anew (
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
      state TEXT NOT NULL CHECK (state IN ('waiting', 'due', 'cancelled', 'dead')),
      reason TEXT NOT NULL DEFAULT '',
      fired INTEGER NOT NULL DEFAULT 0,
      created_ms INTEGER NOT NULL,
      settled_ms INTEGER,
      faults INTEGER NOT NULL DEFAULT 0          -- failures to begin it that were not foreseen
    ) STRICT
    """,
    """
    INSERT INTO intentions_anew (id, conversation, soul, workspace, slot, due_ms, every, process, params, content,
                                 behalf, place, audience, state, reason, fired, created_ms, settled_ms)
    SELECT id, conversation, soul, workspace, slot, due_ms, every, process, params, content,
           behalf, place, audience, state, reason, fired, created_ms, settled_ms FROM intentions
    """,
    "DROP TABLE intentions",
    "ALTER TABLE intentions_anew RENAME TO intentions",
    "CREATE UNIQUE INDEX intentions_slots ON intentions (conversation, slot) WHERE state = 'waiting'",
    "CREATE INDEX intentions_by_conversation ON intentions (conversation)",
    "CREATE INDEX intentions_due ON intentions (soul, workspace, due_ms) WHERE state = 'waiting'",
    "CREATE INDEX intentions_dead ON intentions (settled_ms) WHERE state = 'dead'",
)


# How far catch-up has read, room by room.
CATCH_UP: tuple[str, ...] = ()


# Indexes for the hot queries, and what retention needs.
CHORES: tuple[str, ...] = ()


# Who waits, since when, and how often a message was begun anew.
FAIRNESS: tuple[str, ...] = ()


# Who reads in a room.
ROOMS: tuple[str, ...] = ()


# How well each model keeps the form of a reply.
FORM: tuple[str, ...] = ()


# What each tool said of itself when the admin allowed it.
TOOLS: tuple[str, ...] = ()


# What a post needs to end in something that the reader sees.
DELIVERY: tuple[str, ...] = (
    "ALTER TABLE outbox ADD COLUMN doubted_ms INTEGER",  # since when it may or may not have been sent
    "ALTER TABLE outbox ADD COLUMN draft_tries INTEGER NOT NULL DEFAULT 0",
    # A plain line of the daemon's own, about a post, a message or an intention that came to nothing.
    "ALTER TABLE outbox ADD COLUMN note INTEGER NOT NULL DEFAULT 0 CHECK (note IN (0, 1))",
)


def upgrade() -> None:
    """Make the changes, area by area."""
    for statement in (*PARKING, *CATCH_UP, *CHORES, *FAIRNESS, *ROOMS, *FORM, *TOOLS, *DELIVERY):
        op.execute(statement)
