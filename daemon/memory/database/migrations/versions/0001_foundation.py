"""The first tables: conversations, what was said, what is still to do, what was spent, who is alive."""

from alembic import op

revision = "0001"
down_revision = None

TABLES = (
    """
    CREATE TABLE conversations (
      id TEXT PRIMARY KEY,                       -- soul/workspace/channel/thread
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      channel TEXT NOT NULL,
      thread TEXT NOT NULL,
      place TEXT NOT NULL,
      audience TEXT NOT NULL,
      process TEXT NOT NULL DEFAULT 'engaged',   -- the mental process it is in
      taking_part INTEGER NOT NULL DEFAULT 0 CHECK (taking_part IN (0, 1)),
      version INTEGER NOT NULL DEFAULT 0,        -- bumped by every committed cycle
      last_ms INTEGER NOT NULL,
      lease_owner TEXT NOT NULL DEFAULT '',
      lease_until INTEGER NOT NULL DEFAULT 0,
      gen INTEGER NOT NULL DEFAULT 0             -- fences: bumped by every claim
    ) STRICT
    """,
    "CREATE INDEX conversations_held ON conversations (lease_owner) WHERE lease_owner <> ''",
    """
    CREATE TABLE working_memory (
      conversation TEXT PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE,
      version INTEGER NOT NULL,
      audience TEXT NOT NULL,
      summary TEXT NOT NULL,                     -- what the turns up to summarized_to said
      summarized_to INTEGER NOT NULL,            -- seq of the newest turn the summary covers; below 0: none yet
      updated_ms INTEGER NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE turns (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
      speaker TEXT NOT NULL CHECK (speaker IN ('person', 'soul')),
      actor TEXT NOT NULL,                       -- platform id of the person, or the soul's name
      name TEXT NOT NULL,
      ts TEXT NOT NULL,                          -- of the message said or answered
      body TEXT NOT NULL,
      thought TEXT NOT NULL DEFAULT '{}',        -- private: monologue, verbs, checks
      audience TEXT NOT NULL,
      trace_id TEXT NOT NULL,
      said_ms INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX turns_by_conversation ON turns (conversation, seq)",
    """
    CREATE TABLE inbox (
      id TEXT PRIMARY KEY,                       -- soul/workspace/channel/ts
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      channel TEXT NOT NULL,
      ts TEXT NOT NULL,
      conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
      actor TEXT NOT NULL,
      name TEXT NOT NULL DEFAULT '',
      place TEXT NOT NULL,
      audience TEXT NOT NULL,
      body TEXT NOT NULL,
      revision INTEGER NOT NULL DEFAULT 0,       -- bumped by every edit
      source TEXT NOT NULL CHECK (source IN ('live', 'backfill')),
      state TEXT NOT NULL CHECK (state IN
        ('new', 'claimed', 'answered', 'ignored', 'withdrawn', 'stale', 'dead', 'dropped')),
      reason TEXT NOT NULL DEFAULT '',
      attempts INTEGER NOT NULL DEFAULT 0,
      not_before INTEGER NOT NULL DEFAULT 0,
      received_ms INTEGER NOT NULL,
      settled_ms INTEGER,
      answered_by TEXT,                          -- key of the outbox row that answers it
      envelope TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX inbox_waiting ON inbox (conversation, received_ms) WHERE state IN ('new', 'claimed')",
    "CREATE INDEX inbox_asides ON inbox (conversation, reason, ts) WHERE state = 'ignored'",
    """
    CREATE TABLE deliveries (                    -- event ids seen, so that a repeated event is told at once
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      event_id TEXT NOT NULL,                    -- or withdrawn/channel/ts of a message deleted before it was heard
      seen_ms INTEGER NOT NULL,
      PRIMARY KEY (soul, workspace, event_id)
    ) STRICT
    """,
    "CREATE INDEX deliveries_by_age ON deliveries (seen_ms)",
    """
    CREATE TABLE watermarks (
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      ts TEXT NOT NULL,                          -- heard without a gap up to here
      updated_ms INTEGER NOT NULL,
      PRIMARY KEY (soul, workspace)
    ) STRICT
    """,
    """
    CREATE TABLE outbox (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,                   -- conversation@version#part; travels in the message's metadata
      conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      part INTEGER NOT NULL,
      last INTEGER NOT NULL CHECK (last IN (0, 1)),
      body TEXT NOT NULL,
      reply_to TEXT NOT NULL,
      recipient TEXT NOT NULL,
      posted_after TEXT NOT NULL,                -- a ts that this post is surely younger than
      audience TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN
        ('drafting', 'pending', 'sending', 'sent', 'unknown', 'expired', 'dead', 'dropped')),
      reason TEXT NOT NULL DEFAULT '',
      platform_ts TEXT,                          -- of the draft, later of the message
      attempts INTEGER NOT NULL DEFAULT 0,
      not_before INTEGER NOT NULL DEFAULT 0,
      created_ms INTEGER NOT NULL,
      settled_ms INTEGER,
      lease_owner TEXT NOT NULL DEFAULT '',
      lease_until INTEGER NOT NULL DEFAULT 0,
      gen INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    "CREATE INDEX outbox_waiting ON outbox (conversation, seq) WHERE state IN ('pending', 'sending')",
    "CREATE INDEX outbox_due ON outbox (soul, workspace, seq) WHERE state IN ('pending', 'sending')",
    "CREATE INDEX outbox_drafts ON outbox (conversation) WHERE state = 'drafting'",
    "CREATE INDEX outbox_by_message ON outbox (platform_ts) WHERE platform_ts IS NOT NULL",
    """
    CREATE TABLE feedback (
      outbox TEXT NOT NULL REFERENCES outbox (id) ON DELETE CASCADE,
      actor TEXT NOT NULL,
      value TEXT NOT NULL CHECK (value IN ('good', 'bad')),
      given_ms INTEGER NOT NULL,
      PRIMARY KEY (outbox, actor)
    ) STRICT
    """,
    """
    CREATE TABLE jobs (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      kind TEXT NOT NULL,
      conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('ready', 'running', 'done', 'dead')),
      reason TEXT NOT NULL DEFAULT '',
      attempts INTEGER NOT NULL DEFAULT 0,
      not_before INTEGER NOT NULL DEFAULT 0,
      created_ms INTEGER NOT NULL,
      settled_ms INTEGER,
      lease_owner TEXT NOT NULL DEFAULT '',
      lease_until INTEGER NOT NULL DEFAULT 0,
      gen INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    "CREATE UNIQUE INDEX jobs_live ON jobs (conversation, kind) WHERE state IN ('ready', 'running')",
    "CREATE INDEX jobs_due ON jobs (soul, workspace, seq) WHERE state IN ('ready', 'running')",
    """
    CREATE TABLE llm_calls (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      trace_id TEXT NOT NULL,
      role TEXT NOT NULL,
      step TEXT NOT NULL,
      model TEXT NOT NULL,
      tokens_in INTEGER NOT NULL,
      tokens_cached INTEGER NOT NULL,
      tokens_out INTEGER NOT NULL,
      cost_usd REAL,                             -- NULL when the price is not known
      started_ms INTEGER NOT NULL,
      first_ms INTEGER,                          -- milliseconds to the first text
      latency_ms INTEGER NOT NULL,
      outcome TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX llm_calls_by_trace ON llm_calls (trace_id)",
    """
    CREATE TABLE presence (
      id TEXT PRIMARY KEY,                       -- host/boot/pid/start
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      kind TEXT NOT NULL,
      host TEXT NOT NULL,
      pid INTEGER NOT NULL,
      version TEXT NOT NULL,
      sqlite TEXT NOT NULL,
      started_ms INTEGER NOT NULL,
      seen_ms INTEGER NOT NULL,
      state TEXT NOT NULL,
      detail TEXT NOT NULL DEFAULT '{}'
    ) STRICT
    """,
    """
    CREATE TABLE audit (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      actor TEXT NOT NULL,
      act TEXT NOT NULL,
      object TEXT NOT NULL,
      detail TEXT NOT NULL DEFAULT '',
      done_ms INTEGER NOT NULL
    ) STRICT
    """,
)


def upgrade() -> None:
    """Create the tables."""
    for statement in TABLES:
        op.execute(statement)
