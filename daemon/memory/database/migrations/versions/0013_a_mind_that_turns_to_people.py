"""A mind that turns to people: what it promised to come back to."""

from alembic import op

revision = "0013"
down_revision = "0012"

CHANGES: tuple[str, ...] = (
    # A goal with `follow_up` is a promise to the person of `behalf`: `said_in` is the row of the outbox whose post says
    # so, and `kept_ms` when words about it ended it.
    "ALTER TABLE goals ADD COLUMN said_in TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE goals ADD COLUMN kept_ms INTEGER",
)


def upgrade() -> None:
    """Append what a mind needs to speak of its own accord."""
    for statement in CHANGES:
        op.execute(statement)
