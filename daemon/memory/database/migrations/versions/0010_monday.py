"""A colleague on Monday by noon: what the admin is told once until it heals."""

from alembic import op

revision = "0010"
down_revision = "0009"

CHANGES: tuple[str, ...] = (
    # What is wrong now: since when, and when it was seen last. An alarm that healed has no row.
    """
    CREATE TABLE alarms (
      name TEXT PRIMARY KEY,
      since_ms INTEGER NOT NULL,
      seen_ms INTEGER NOT NULL
    ) STRICT
    """,
)


def upgrade() -> None:
    """Append what the first working days of a team need."""
    for statement in CHANGES:
        op.execute(statement)
