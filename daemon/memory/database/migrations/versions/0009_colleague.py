"""A colleague: what people say of replies, and why they were wrong."""

from alembic import op

revision = "0009"
down_revision = "0008"

CHANGES: tuple[str, ...] = (
    # What people say of a reply: by its buttons or by a reaction, when they were asked why, and what they answered.
    "ALTER TABLE feedback ADD COLUMN how TEXT NOT NULL DEFAULT 'button' CHECK (how IN ('button', 'reaction'))",
    "ALTER TABLE feedback ADD COLUMN asked_ms INTEGER",
    "ALTER TABLE feedback ADD COLUMN why TEXT NOT NULL DEFAULT ''",
)


def upgrade() -> None:
    """Append what a colleague needs."""
    for statement in CHANGES:
        op.execute(statement)
