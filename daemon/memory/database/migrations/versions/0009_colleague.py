"""A colleague: what people say of replies, and stop; reminders that are theirs, and repeat."""

from alembic import op

revision = "0009"
down_revision = "0008"

_REMINDERS: tuple[str, ...] = (
    # `every` is a crontab of the admin's (UTC) or a rule of a person's, reckoned on the clocks of `zone`; `fired_day`
    # is the local day for which it was due last. `number` is by which its person names it, never used twice.
    "ALTER TABLE intentions ADD COLUMN number INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE intentions ADD COLUMN zone TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE intentions ADD COLUMN fired_day TEXT NOT NULL DEFAULT ''",
    # A digest tells what was said in its channel after `covers_to`, the ts up to which the last one told it.
    "ALTER TABLE intentions ADD COLUMN errand TEXT NOT NULL DEFAULT '' CHECK (errand IN ('', 'digest'))",
    "ALTER TABLE intentions ADD COLUMN covers_to TEXT NOT NULL DEFAULT ''",
    # One that waits and is paused falls due no more until its person resumes it: why it was paused.
    """
    ALTER TABLE intentions ADD COLUMN paused TEXT NOT NULL DEFAULT ''
      CHECK (paused IN ('', 'not_in_channel', 'archived', 'owner_left'))
    """,
    """
    UPDATE intentions SET number = n.number FROM (
      SELECT id, row_number() OVER (PARTITION BY workspace, behalf ORDER BY created_ms, id) AS number
      FROM intentions WHERE slot <> 'idle') n WHERE n.id = intentions.id
    """,
    "CREATE INDEX intentions_of_person ON intentions (behalf, workspace) WHERE slot <> 'idle'",
    # Where it was asked for, if that is another conversation than the one in which it comes up.
    "ALTER TABLE intentions ADD COLUMN asked_where TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX intentions_asked_elsewhere ON intentions (asked_where) WHERE asked_where <> ''",
    # Times that a post shows, each with its moment (ms, UTC): where several zones read along, each reads their own.
    "ALTER TABLE outbox ADD COLUMN dates TEXT NOT NULL DEFAULT '{}'",
)

CHANGES: tuple[str, ...] = (
    # What people say of a reply: by its buttons or by a reaction, when they were asked why, and what they answered.
    "ALTER TABLE feedback ADD COLUMN how TEXT NOT NULL DEFAULT 'button' CHECK (how IN ('button', 'reaction'))",
    "ALTER TABLE feedback ADD COLUMN asked_ms INTEGER",
    "ALTER TABLE feedback ADD COLUMN why TEXT NOT NULL DEFAULT ''",
    *_REMINDERS,
    # What was stopped: messages that are not thought about any more, and what was taken in while others were answered.
    "ALTER TABLE inbox ADD COLUMN stopped INTEGER NOT NULL DEFAULT 0 CHECK (stopped IN (0, 1))",
    "ALTER TABLE inbox ADD COLUMN absorbed INTEGER NOT NULL DEFAULT 0 CHECK (absorbed IN (0, 1))",
    # The post that ends a stopped reply below what is shown of it, and one of which no more may be sent.
    "ALTER TABLE outbox ADD COLUMN stopped TEXT NOT NULL DEFAULT '' CHECK (stopped IN ('', 'closing', 'halted'))",
)


def upgrade() -> None:
    """Append what a colleague needs."""
    for statement in CHANGES:
        op.execute(statement)
