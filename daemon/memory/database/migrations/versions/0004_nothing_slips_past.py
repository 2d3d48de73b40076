"""What keeps work moving in bad times: parked rows, catch-up's place, indexes for every hot query, fairness, rooms."""

from alembic import op

revision = "0004"
down_revision = "0003"

# Rows that fail in an unexpected way are counted, and parked.
PARKING: tuple[str, ...] = ()


# How far catch-up has read, room by room.
CATCH_UP: tuple[str, ...] = (
    """
    CREATE TABLE unread_places (
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      channel TEXT NOT NULL,
      thread TEXT NOT NULL,                      -- ts of its first message; empty: the timeline of the channel
      state TEXT NOT NULL CHECK (state IN ('due', 'read')),
      since TEXT NOT NULL,                       -- messages from this ts on may be missing
      resume TEXT NOT NULL DEFAULT '',           -- where a place that is read in several steps goes on
      heard_ms INTEGER NOT NULL,                 -- when the last message there was written, as far as is known
      failures INTEGER NOT NULL DEFAULT 0,
      due_ms INTEGER NOT NULL,
      PRIMARY KEY (soul, workspace, channel, thread)
    ) STRICT
    """,
    "CREATE INDEX unread_places_due ON unread_places (soul, workspace, failures, heard_ms) WHERE state = 'due'",
    "CREATE INDEX conversations_by_age ON conversations (workspace, last_ms)",
    # The platform id of the account that heard a message: whatever soul it went to, that account answers it once.
    "ALTER TABLE inbox ADD COLUMN receiver TEXT NOT NULL DEFAULT ''",
    # Heard as a mention alone, which names no files: its twin completes the row.
    "ALTER TABLE inbox ADD COLUMN incomplete INTEGER NOT NULL DEFAULT 0 CHECK (incomplete IN (0, 1))",
    # When the conversation was told that messages in it are too old to be answered.
    "ALTER TABLE conversations ADD COLUMN away_told_ms INTEGER NOT NULL DEFAULT 0",
)


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
DELIVERY: tuple[str, ...] = ()


def upgrade() -> None:
    """Make the changes, area by area."""
    for statement in (*PARKING, *CATCH_UP, *CHORES, *FAIRNESS, *ROOMS, *FORM, *TOOLS, *DELIVERY):
        op.execute(statement)
