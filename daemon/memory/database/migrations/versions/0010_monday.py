"""A colleague on Monday by noon: what the admin is told once until it heals."""

from alembic import op

revision = "0010"
down_revision = "0009"

CHANGES: tuple[str, ...] = (
    # What is wrong now: since when, when it was seen last, and the keys (JSON) of the posts that tell of it. An alarm
    # that healed has no row.
    """
    CREATE TABLE alarms (
      name TEXT PRIMARY KEY,
      since_ms INTEGER NOT NULL,
      seen_ms INTEGER NOT NULL,
      posts TEXT NOT NULL DEFAULT '[]'
    ) STRICT
    """,
    # By which event of the inbox each soul introduced itself in a channel, once for ever.
    """
    CREATE TABLE introductions (
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      channel TEXT NOT NULL,
      event TEXT NOT NULL,
      invited_ms INTEGER NOT NULL,
      PRIMARY KEY (soul, workspace, channel)
    ) STRICT
    """,
    # How the soul works in a channel, as those who manage it have set it.
    """
    CREATE TABLE room_ways (
      workspace TEXT NOT NULL,
      channel TEXT NOT NULL,
      instructions TEXT NOT NULL,
      soul TEXT NOT NULL,
      streams TEXT NOT NULL CHECK (streams IN ('', 'on', 'off')),
      joins TEXT NOT NULL CHECK (joins IN ('', 'mention')),
      person TEXT NOT NULL,
      set_ms INTEGER NOT NULL,
      PRIMARY KEY (workspace, channel)
    ) STRICT
    """,
    # No one waits for such a post: where it can't be sent, it is dropped without a note.
    "ALTER TABLE outbox ADD COLUMN unasked INTEGER NOT NULL DEFAULT 0 CHECK (unasked IN (0, 1))",
    # The short answers that a question offers to its recipient as buttons (JSON), as long as it does.
    "ALTER TABLE outbox ADD COLUMN answers TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX outbox_offers ON outbox (workspace, recipient) WHERE answers <> ''",
    """
    CREATE TRIGGER outbox_cleared_answers AFTER UPDATE OF cleared ON outbox
    WHEN NEW.cleared = 1 AND NEW.answers <> ''
    BEGIN
      UPDATE outbox SET answers = '' WHERE id = NEW.id;
    END
    """,
    # The threads of direct messages that have a title, or are due to get one; `message` is the row of the inbox whose
    # words make it. A row stays when it is over, so that no title is set twice.
    """
    CREATE TABLE session_titles (
      id TEXT PRIMARY KEY,
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      channel TEXT NOT NULL,
      thread TEXT NOT NULL,
      message TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('due', 'over')),
      due_ms INTEGER NOT NULL,
      tries INTEGER NOT NULL DEFAULT 0,
      noted_ms INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX session_titles_due ON session_titles (soul, workspace, due_ms) WHERE state = 'due'",
    "CREATE INDEX session_titles_by_age ON session_titles (noted_ms)",
    # Which memories a person judged with which reply, as they had surfaced to it; what was said stands in `feedback`.
    """
    CREATE TABLE judged_memories (
      id TEXT NOT NULL,
      outbox TEXT NOT NULL,
      author TEXT NOT NULL,
      PRIMARY KEY (id, outbox, author),
      FOREIGN KEY (outbox, author) REFERENCES feedback (outbox, author) ON DELETE CASCADE
    ) STRICT
    """,
    "CREATE INDEX judged_memories_by_reply ON judged_memories (outbox, author)",
    # A person took the reply back: what stands of it is deleted.
    "ALTER TABLE outbox ADD COLUMN withdrawn INTEGER NOT NULL DEFAULT 0 CHECK (withdrawn IN (0, 1))",
    # What a person has open in Slack beside the talk, as ids: the newest alone, for minutes.
    """
    CREATE TABLE looked_at (
      workspace TEXT NOT NULL,
      person TEXT NOT NULL,
      seen TEXT NOT NULL,                        -- JSON: kind, channel and ts of each
      at_ms INTEGER NOT NULL,
      PRIMARY KEY (workspace, person)
    ) STRICT
    """,
    # Messages that came too late to be answered unasked, until their author decides; `offer` is the post that asks.
    """
    CREATE TABLE missed_messages (
      id TEXT PRIMARY KEY REFERENCES inbox (id) ON DELETE CASCADE,
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      person TEXT NOT NULL,
      language TEXT NOT NULL,
      offer TEXT NOT NULL DEFAULT ''
    ) STRICT
    """,
    "CREATE INDEX missed_messages_by_person ON missed_messages (soul, workspace, person)",
    "CREATE INDEX missed_messages_by_offer ON missed_messages (offer)",
    # What a deleted message asked for is found without a walk through a conversation.
    "CREATE INDEX intentions_errands ON intentions (conversation) WHERE errand <> ''",
    # The buttons of this post decide whether messages that came too late are still answered.
    "ALTER TABLE outbox ADD COLUMN late INTEGER NOT NULL DEFAULT 0 CHECK (late IN (0, 1))",
    # The messages that bear the reaction of what is worked on, until it is taken away.
    """
    CREATE TABLE marked_messages (
      id TEXT PRIMARY KEY REFERENCES inbox (id) ON DELETE CASCADE,
      marked_ms INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX marked_messages_by_age ON marked_messages (marked_ms)",
    # What a soul thought, thought by thought; `previous` names the one before in the same conversation. Erasure takes
    # the words (`input`, `output`) and leaves the numbers. It saw all turns there up to `saw_to`, and what
    # `thought_sources` names.
    """
    CREATE TABLE thoughts (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      conversation TEXT NOT NULL,
      audience TEXT NOT NULL,
      readers TEXT NOT NULL,                     -- JSON: before whom it was thought
      trace_id TEXT NOT NULL,
      previous TEXT NOT NULL,
      at_ms INTEGER NOT NULL,
      occasion TEXT NOT NULL CHECK (occasion IN
        ('words', 'due', 'surprise', 'sense', 'result', 'visit_end', 'wake', 'awakening', 'resumption')),
      process TEXT NOT NULL,
      asked INTEGER NOT NULL CHECK (asked IN (0, 1)),  -- whether a whole thought was asked for
      degraded INTEGER NOT NULL CHECK (degraded IN (0, 1)),
      spoke INTEGER NOT NULL CHECK (spoke IN (0, 1)),
      surprise REAL,
      did TEXT NOT NULL,                         -- JSON: how many parts of each field took effect
      refused TEXT NOT NULL,                     -- JSON: which fields lost a part, and why
      calls INTEGER NOT NULL,
      tokens_in INTEGER NOT NULL,
      tokens_out INTEGER NOT NULL,
      cost_usd REAL NOT NULL,
      saw_to INTEGER NOT NULL,
      passing INTEGER NOT NULL CHECK (passing IN (0, 1)),
      emptied INTEGER NOT NULL DEFAULT 0 CHECK (emptied IN (0, 1)),
      -- what is long comes last, so that the rest is read without it
      input TEXT NOT NULL,                       -- JSON: CognitiveInput, '' where another step thought
      output TEXT NOT NULL                       -- JSON: CognitiveOutput
    ) STRICT
    """,
    "CREATE INDEX thoughts_by_conversation ON thoughts (conversation, seq)",
    "CREATE INDEX thoughts_by_audience ON thoughts (soul, workspace, audience, seq)",
    "CREATE INDEX thoughts_with_words ON thoughts (at_ms) WHERE emptied = 0",
    "CREATE INDEX thoughts_by_soul ON thoughts (soul, seq)",
    "CREATE INDEX thoughts_asked ON thoughts (soul, workspace, seq) WHERE asked = 1",
    "CREATE INDEX thoughts_degraded ON thoughts (soul, workspace, seq) WHERE degraded = 1",
    # What stood before a thought from elsewhere, by id: thoughts, turns that surfaced, records.
    """
    CREATE TABLE thought_sources (
      thought TEXT NOT NULL REFERENCES thoughts (id),
      source TEXT NOT NULL,
      PRIMARY KEY (thought, source)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX thought_sources_by_source ON thought_sources (source)",
)


def upgrade() -> None:
    """Append what the first working days of a team need."""
    for statement in CHANGES:
        op.execute(statement)
