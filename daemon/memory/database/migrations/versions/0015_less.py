"""Drops the tables of features that are gone."""

from alembic import op

revision = "0015"
down_revision = "0014"

GONE = ("looked_at",)


def upgrade() -> None:
    """Drop them with what they hold, and the index of what a model was to judge."""
    op.execute("DROP INDEX IF EXISTS predictions_to_judge")
    for table in GONE:
        op.execute(f"DROP TABLE IF EXISTS {table}")
