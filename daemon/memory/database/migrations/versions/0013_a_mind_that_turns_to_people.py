"""A mind that turns to people: what it promised to come back to, and who invited it."""

from alembic import op

revision = "0013"
down_revision = "0012"

CHANGES: tuple[str, ...] = (
    # A goal with `follow_up` is a promise to the person of `behalf`: `said_in` is the row of the outbox whose post says
    # so, and `kept_ms` when words about it ended it.
    "ALTER TABLE goals ADD COLUMN said_in TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE goals ADD COLUMN kept_ms INTEGER",
    # Who wants to hear from a soul unasked, and when it wrote to them so; promises apart.
    """
    CREATE TABLE invitations (
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      person TEXT NOT NULL,
      invited INTEGER NOT NULL CHECK (invited IN (0, 1)),
      at_ms INTEGER NOT NULL,
      PRIMARY KEY (soul, workspace, person)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE initiatives (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      conversation TEXT NOT NULL,
      person TEXT NOT NULL,
      at_ms INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX initiatives_by_person ON initiatives (person, workspace, soul, at_ms)",
)


def upgrade() -> None:
    """Append what a mind needs to speak of its own accord."""
    for statement in CHANGES:
        op.execute(statement)
