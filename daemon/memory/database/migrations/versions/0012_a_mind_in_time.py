"""A mind in time: what it means to do is found by soul and by age."""

from alembic import op

revision = "0012"
down_revision = "0011"

CHANGES: tuple[str, ...] = (
    "CREATE INDEX goals_by_soul ON goals (soul, seq)",
    # Goals in force are counted without those that are long stale.
    "CREATE INDEX goals_fresh ON goals (soul, max(touched_ms, coalesce(due_ms, 0))) WHERE state = 'open'",
    "CREATE INDEX thoughts_by_time ON thoughts (soul, at_ms)",
)


def upgrade() -> None:
    """Append what a mind needs to look at itself over time."""
    for statement in CHANGES:
        op.execute(statement)
