"""A mind that goes on: what a soul holds beside its stream of thought."""

from alembic import op

revision = "0011"
down_revision = "0010"

CHANGES: tuple[str, ...] = ("CREATE INDEX thoughts_that_saw ON thoughts (conversation, saw_to) WHERE emptied = 0",)


def upgrade() -> None:
    """Append what a mind holds that goes on."""
    for statement in CHANGES:
        op.execute(statement)
