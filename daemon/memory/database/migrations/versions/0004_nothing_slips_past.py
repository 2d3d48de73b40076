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
FORM: tuple[str, ...] = (
    # What a turn of the soul is: a reply, one that met the model's output limit, or an apology, which is not its words.
    "ALTER TABLE turns ADD COLUMN kind TEXT NOT NULL DEFAULT 'reply' CHECK (kind IN ('reply', 'cut', 'apology'))",
    """UPDATE turns SET kind = 'apology' WHERE speaker = 'soul' AND thought LIKE '%"apology": true%'""",
    """
    CREATE TABLE model_habits (
      model TEXT PRIMARY KEY,                    -- prefixed id
      recent TEXT NOT NULL,                      -- its last answers in elements: k kept the form, m is malformed
      split_until_ms INTEGER NOT NULL,           -- until then it speaks in the split pipeline
      split_for_ms INTEGER NOT NULL,             -- for how long, so that the next time can be longer
      hold_back INTEGER NOT NULL                 -- answers that must end without reasoning before its words stream
    ) STRICT
    """,
)


# What each tool said of itself when the admin allowed it.
TOOLS: tuple[str, ...] = ()


# What a post needs to end in something that the reader sees.
DELIVERY: tuple[str, ...] = ()


def upgrade() -> None:
    """Make the changes, area by area."""
    for statement in (*PARKING, *CATCH_UP, *CHORES, *FAIRNESS, *ROOMS, *FORM, *TOOLS, *DELIVERY):
        op.execute(statement)
