"""One name for a thing, and a column for everything that behaviour depends on instead of the prose of a `reason`."""

import json

from alembic import op
from sqlalchemy import text

revision = "0003"
down_revision = "0002"

CHANGES = (
    # `fence` counts the claims of a row; who holds an older number has lost it.
    "ALTER TABLE conversations RENAME COLUMN gen TO fence",
    "ALTER TABLE outbox RENAME COLUMN gen TO fence",
    "ALTER TABLE jobs RENAME COLUMN gen TO fence",
    # What the current mental process remembers between its runs.
    "ALTER TABLE conversations RENAME COLUMN kept TO process_memory",
    # The platform id of the user who wrote a message, pressed a button, or is acted for.
    "ALTER TABLE turns RENAME COLUMN actor TO author",
    "ALTER TABLE inbox RENAME COLUMN actor TO author",
    "ALTER TABLE feedback RENAME COLUMN actor TO author",
    # A platform ts that the post is surely younger than; `not_before` is when the row may be tried again.
    "ALTER TABLE outbox RENAME COLUMN posted_after TO newer_than_ts",
    # A draft may be visible whose platform id was lost: it is looked for before anything is posted.
    "ALTER TABLE outbox ADD COLUMN draft_lost INTEGER NOT NULL DEFAULT 0 CHECK (draft_lost IN (0, 1))",
    "UPDATE outbox SET draft_lost = 1, reason = '' WHERE reason = 'draft opened, its id unknown'",
    # People talk to each other: the message is not for the soul, which may read it when it is asked again.
    """
    ALTER TABLE inbox ADD COLUMN aside INTEGER NOT NULL DEFAULT 0
      CHECK (aside = 0 OR (aside = 1 AND state = 'ignored'))
    """,
    "UPDATE inbox SET aside = 1 WHERE state = 'ignored' AND reason = 'people talk to each other'",
    "DROP INDEX inbox_asides",
    "CREATE INDEX inbox_asides ON inbox (conversation, ts) WHERE aside = 1",
    # The id that a program gave its message, so that it can ask for the reply again.
    "ALTER TABLE inbox ADD COLUMN message_id TEXT NOT NULL DEFAULT ''",
    "DROP INDEX inbox_over_http",
    "CREATE INDEX inbox_by_message_id ON inbox (conversation, message_id) WHERE message_id <> ''",
)


def upgrade() -> None:
    """Make the changes, in order, and take the ids of HTTP messages out of their envelopes."""
    for statement in CHANGES:
        op.execute(statement)
    connection = op.get_bind()
    rows = connection.execute(text("SELECT id, envelope FROM inbox WHERE channel = 'http'")).all()
    for row_id, envelope in rows:
        sent = json.loads(envelope)
        values = {"id": row_id, "message_id": sent.get("message_id", ""), "name": sent.get("name", "")}
        connection.execute(text("UPDATE inbox SET message_id = :message_id, name = :name WHERE id = :id"), values)
