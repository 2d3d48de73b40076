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
ROOMS: tuple[str, ...] = (
    # A user who isn't a full member of the workspace wrote in the conversation; it is never undone.
    "ALTER TABLE conversations ADD COLUMN outsider_spoke INTEGER NOT NULL DEFAULT 0 CHECK (outsider_spoke IN (0, 1))",
)


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
