"""A colleague: what people say of replies, and stop; reminders that repeat; events of programs; money."""

from alembic import op

from daemon.memory.database.migrations.money import MONEY

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

# The programs that an admin lets report to a soul in one room, and their events. The ids stay for good.
_EVENTS: tuple[str, ...] = (
    """
    CREATE TABLE event_sources (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      room TEXT NOT NULL,                        -- id of a channel
      signing TEXT NOT NULL CHECK (signing IN ('standard', 'github')),
      wakes INTEGER NOT NULL CHECK (wakes IN (0, 1)),
      created_ms INTEGER NOT NULL,
      ended_ms INTEGER
    ) STRICT
    """,
    "CREATE UNIQUE INDEX event_sources_in_force ON event_sources (name) WHERE ended_ms IS NULL",
    """
    CREATE TABLE source_events (
      seq INTEGER PRIMARY KEY,
      source TEXT NOT NULL REFERENCES event_sources (id),
      event TEXT NOT NULL,                       -- the id that the source gave it
      digest TEXT NOT NULL,                      -- of the words
      room TEXT NOT NULL,
      words TEXT NOT NULL,
      cleared INTEGER NOT NULL DEFAULT 0 CHECK (cleared IN (0, 1)),
      at_ms INTEGER NOT NULL,
      inbox TEXT,                                -- id of the row by which a soul perceives it; none if it only hears
      UNIQUE (source, event)
    ) STRICT
    """,
    "CREATE INDEX source_events_lately ON source_events (room, at_ms)",
    "CREATE INDEX source_events_of_source ON source_events (source, at_ms)",
    "CREATE INDEX source_events_by_age ON source_events (at_ms) WHERE cleared = 0",
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
    *_EVENTS,
    *MONEY,
)

# As notes were let in (0007): a CHECK that lets more pass changes no row, and the statements that follow tell other
# connections that the schema is another one.
_MODALITIES = "CHECK (modality IN ('words', 'time', 'decision', 'note'))"
_AND_EVENTS = "CHECK (modality IN ('words', 'time', 'decision', 'note', 'event'))"


def upgrade() -> None:
    """Append what a colleague needs."""
    connection = op.get_bind()
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    connection.exec_driver_sql(
        "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE type = 'table' AND name = 'inbox'",
        (_MODALITIES, _AND_EVENTS),
    )
    connection.exec_driver_sql("PRAGMA writable_schema = RESET")
    for statement in CHANGES:
        op.execute(statement)
