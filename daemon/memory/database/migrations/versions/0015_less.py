"""Drops the tables of features that are gone."""

from alembic import op

revision = "0015"
down_revision = "0014"

GONE = ("looked_at",)


def upgrade() -> None:
    """Drop them with what they hold."""
    for table in GONE:
        op.execute(f"DROP TABLE IF EXISTS {table}")
