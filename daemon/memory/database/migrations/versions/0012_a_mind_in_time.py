"""A mind in time: what it means to do is found by soul and by age, what it thinks about by itself, and the cost."""

from alembic import op

revision = "0012"
down_revision = "0011"

CHANGES: tuple[str, ...] = (
    "CREATE INDEX goals_by_soul ON goals (soul, seq)",
    # Goals in force are counted without those that are long stale.
    "CREATE INDEX goals_fresh ON goals (soul, max(touched_ms, coalesce(due_ms, 0))) WHERE state = 'open'",
    "CREATE INDEX thoughts_by_time ON thoughts (soul, at_ms)",
    # What a soul has to think about unasked: `about` names it (a goal such as G1, '' for all that was otherwise than
    # expected, or for its own wish). At `due_ms` it is thought about; NULL: no more, or in the row `inbox` of the inbox
    # now. `said` is a digest of what it thought last, `pause_ms` the time that it waited before. No row holds words.
    """
    CREATE TABLE ticks (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      conversation TEXT NOT NULL,
      kind TEXT NOT NULL CHECK (kind IN ('due', 'surprise', 'wake')),
      about TEXT NOT NULL,
      due_ms INTEGER,
      pause_ms INTEGER NOT NULL DEFAULT 0,
      said TEXT NOT NULL DEFAULT '',
      inbox TEXT NOT NULL DEFAULT '',
      fruitless INTEGER NOT NULL DEFAULT 0,     -- how often in a row it woke by its own wish to no effect
      UNIQUE (conversation, kind, about)
    ) STRICT
    """,
    "CREATE INDEX ticks_due ON ticks (soul, workspace, due_ms) WHERE due_ms IS NOT NULL",
    "CREATE INDEX ticks_under_way ON ticks (inbox) WHERE inbox <> ''",
    # How many of them were thought on a day (UTC), with the reason '', or not, with the reason why.
    """
    CREATE TABLE tick_counts (
      soul TEXT NOT NULL,
      day TEXT NOT NULL,
      reason TEXT NOT NULL,
      n INTEGER NOT NULL,
      PRIMARY KEY (soul, day, reason)
    ) STRICT, WITHOUT ROWID
    """,
    # The due time of a goal that was noted as a tick already, and the same of what came otherwise than expected.
    "ALTER TABLE goals ADD COLUMN woken_ms INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX goals_to_wake ON goals (soul, workspace, due_ms) WHERE state = 'open' AND due_ms > woken_ms",
    "ALTER TABLE predictions ADD COLUMN woken INTEGER NOT NULL DEFAULT 0 CHECK (woken IN (0, 1))",
    """
    CREATE INDEX predictions_to_wake ON predictions (soul, workspace, scored_ms)
    WHERE shown = 0 AND woken = 0 AND surprise >= 0.5
    """,
    # What an unasked thought takes at most, and took, in tokens: these have budgets of their own.
    "ALTER TABLE reservations ADD COLUMN tick INTEGER NOT NULL DEFAULT 0 CHECK (tick IN (0, 1))",
    "ALTER TABLE reservations ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX reservations_of_ticks ON reservations (soul) WHERE tick = 1",
    "ALTER TABLE llm_calls ADD COLUMN tick INTEGER NOT NULL DEFAULT 0 CHECK (tick IN (0, 1))",
    "CREATE INDEX llm_calls_of_ticks ON llm_calls (soul, started_ms) WHERE tick = 1",
)


def upgrade() -> None:
    """Append what a mind needs to look at itself over time, and to think by itself."""
    for statement in CHANGES:
        op.execute(statement)
