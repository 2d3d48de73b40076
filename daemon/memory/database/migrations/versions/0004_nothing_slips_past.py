"""What keeps work moving in bad times: parked rows, catch-up's place, indexes for every hot query, fairness, rooms."""

from alembic import op

revision = "0004"
down_revision = "0003"

# Rows that fail in an unexpected way are counted, and parked.
PARKING: tuple[str, ...] = ()


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
TOOLS: tuple[str, ...] = (
    """
    CREATE TABLE tools (
      soul TEXT NOT NULL,                        -- of the daemon whose server offers it
      server TEXT NOT NULL,
      name TEXT NOT NULL,                        -- server/tool
      accepted TEXT NOT NULL,                    -- fingerprint at its first sight, or when the admin accepted it
      offered TEXT NOT NULL,                     -- fingerprint of what the server says now
      writes INTEGER NOT NULL CHECK (writes IN (0, 1)),
      changed_ms INTEGER,                        -- since when both differ; NULL while they are the same
      PRIMARY KEY (soul, name)
    ) STRICT
    """,
    "ALTER TABLE approvals ADD COLUMN fingerprint TEXT NOT NULL DEFAULT ''",
)


# What a post needs to end in something that the reader sees.
DELIVERY: tuple[str, ...] = ()


def upgrade() -> None:
    """Make the changes, area by area."""
    for statement in (*PARKING, *CATCH_UP, *CHORES, *FAIRNESS, *ROOMS, *FORM, *TOOLS, *DELIVERY):
        op.execute(statement)
