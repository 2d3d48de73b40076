"""What keeps work moving in bad times: parked rows, catch-up's place, indexes for every hot query, fairness, rooms."""

from alembic import op

revision = "0004"
down_revision = "0003"

# Rows that fail in an unexpected way are counted, and parked.
PARKING: tuple[str, ...] = ()


# How far catch-up has read, room by room.
CATCH_UP: tuple[str, ...] = ()


# Indexes for the hot queries, and what retention needs.
CHORES: tuple[str, ...] = (
    # Every hot query finds its rows by an index, however many other rows there are.
    "CREATE INDEX turns_by_message ON turns (conversation, ts)",
    "CREATE INDEX turns_readable ON turns (audience, seq) WHERE speaker = 'person'",
    "DROP INDEX inbox_by_message",  # it began with the workspace, and was taken where nothing but that was asked for
    "CREATE INDEX inbox_by_message ON inbox (ts, channel, workspace)",
    "CREATE INDEX inbox_due ON inbox (soul, workspace, received_ms) WHERE state IN ('new', 'claimed')",
    "CREATE INDEX inbox_by_state ON inbox (state, received_ms)",
    "CREATE INDEX outbox_by_state ON outbox (state, seq)",
    "CREATE INDEX jobs_by_state ON jobs (state, seq)",
    "CREATE INDEX intentions_by_state ON intentions (state, due_ms)",
    "CREATE INDEX intentions_counted ON intentions (soul, workspace) WHERE state = 'waiting' AND slot <> 'idle'",
    "CREATE INDEX intentions_with_text ON intentions (conversation) WHERE content <> ''",
    "CREATE INDEX approvals_by_state ON approvals (state, created_ms)",
    "CREATE INDEX conversations_by_channel ON conversations (soul, workspace, channel, last_ms)",
    "CREATE INDEX user_models_by_person ON user_models (person)",
    "CREATE INDEX user_models_by_time ON user_models (seen_ms)",
    "CREATE INDEX user_model_history_by_person ON user_model_history (person, made_ms)",
    # What has lost its text because it is old: it stays, so that nothing is taken in or sent a second time.
    "ALTER TABLE inbox ADD COLUMN cleared INTEGER NOT NULL DEFAULT 0 CHECK (cleared IN (0, 1))",
    "ALTER TABLE outbox ADD COLUMN cleared INTEGER NOT NULL DEFAULT 0 CHECK (cleared IN (0, 1))",
    # What grows old, by age.
    "CREATE INDEX inbox_whole ON inbox (received_ms) WHERE cleared = 0",
    "CREATE INDEX inbox_events_by_age ON inbox (received_ms) WHERE modality <> 'words'",
    "CREATE INDEX outbox_whole ON outbox (created_ms) WHERE cleared = 0",
    "CREATE INDEX jobs_by_age ON jobs (settled_ms) WHERE state = 'done'",
    "CREATE INDEX transitions_by_age ON transitions (at_ms)",
    "CREATE INDEX llm_calls_by_age ON llm_calls (started_ms)",
    """
    CREATE TABLE llm_days (                      -- model calls that are too old to be kept one by one
      day TEXT NOT NULL,                         -- of their start, UTC
      role TEXT NOT NULL,
      step TEXT NOT NULL,
      model TEXT NOT NULL,
      calls INTEGER NOT NULL,
      failed INTEGER NOT NULL,
      tokens_in INTEGER NOT NULL,
      tokens_cached INTEGER NOT NULL,
      tokens_out INTEGER NOT NULL,
      cost_usd REAL NOT NULL,
      unpriced INTEGER NOT NULL,                 -- calls whose price is not known
      PRIMARY KEY (day, role, step, model)
    ) STRICT
    """,
)


# Who waits, since when, and how often a message was begun anew.
FAIRNESS: tuple[str, ...] = ()


# Who reads in a room.
ROOMS: tuple[str, ...] = ()


# How well each model keeps the form of a reply.
FORM: tuple[str, ...] = ()


# What each tool said of itself when the admin allowed it.
TOOLS: tuple[str, ...] = ()


# What a post needs to end in something that the reader sees.
DELIVERY: tuple[str, ...] = ()


def upgrade() -> None:
    """Make the changes, area by area."""
    for statement in (*PARKING, *CATCH_UP, *CHORES, *FAIRNESS, *ROOMS, *FORM, *TOOLS, *DELIVERY):
        op.execute(statement)
