"""A mind with senses: what reaches a soul beside words, who invited it and when it may speak, and where it awoke."""

from alembic import op

revision = "0014"
down_revision = "0013"

SENSES: tuple[str, ...] = (
    # What a soul perceives beside words, in the conversation where it waits for the next thought. `sense` names who or
    # what reports. Of equal ones (`digest`) that wait the newest is kept, with their number `n`. One that was perceived
    # names the cycle in which; one that was dropped, where too much waited, keeps no words. `concerns` is the goal that
    # it tells of, '' for none.
    """
    CREATE TABLE readings (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      conversation TEXT NOT NULL,
      sense TEXT NOT NULL,
      digest TEXT NOT NULL,
      words TEXT NOT NULL,
      concerns TEXT NOT NULL DEFAULT '',
      n INTEGER NOT NULL DEFAULT 1 CHECK (n > 0),
      at_ms INTEGER NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('waiting', 'perceived', 'dropped')),
      perceived_by TEXT NOT NULL DEFAULT ''
    ) STRICT
    """,
    "CREATE INDEX readings_waiting ON readings (conversation, seq) WHERE state = 'waiting'",
    "CREATE INDEX readings_dropped ON readings (soul, state, at_ms) WHERE state = 'dropped'",
    "CREATE INDEX readings_by_age ON readings (at_ms)",
    # The ids that programs gave to readings, kept for good, and what was answered to each.
    """
    CREATE TABLE sensed (
      source TEXT NOT NULL,                      -- whose token or secret it came with
      event TEXT NOT NULL,
      digest TEXT NOT NULL,
      perceived_by TEXT NOT NULL,                -- JSON: the conversations
      at_ms INTEGER NOT NULL,
      PRIMARY KEY (source, event)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX sensed_by_age ON sensed (source, at_ms)",
)

INITIATIVE: tuple[str, ...] = ()

IDENTITY: tuple[str, ...] = ()

MOMENTS: tuple[str, ...] = (
    # Since when something is to be thought about; 0 where that isn't asked.
    "ALTER TABLE ticks ADD COLUMN noted_ms INTEGER NOT NULL DEFAULT 0",
    # Whether what was decided of a thought's proposal has made a tick.
    "ALTER TABLE approvals ADD COLUMN woken INTEGER NOT NULL DEFAULT 0 CHECK (woken IN (0, 1))",
    """
    CREATE INDEX proposals_to_wake ON approvals (soul, workspace, decided_ms)
    WHERE tool GLOB 'mind.*' AND state IN ('used', 'refused') AND woken = 0
    """,
    # When a model was asked whether it came true, which happens once; what it says is summed up with nothing else.
    "ALTER TABLE predictions ADD COLUMN judged_ms INTEGER",
    """
    CREATE INDEX predictions_to_judge ON predictions (soul, workspace, scored_ms)
    WHERE kind = 'none' AND state = 'unresolved' AND judged_ms IS NULL
    """,
)

CHANGES: tuple[str, ...] = (*SENSES, *INITIATIVE, *IDENTITY, *MOMENTS)

# As events were let in (0009): a CHECK that lets more pass changes no row, and the statements that follow tell other
# connections that the schema is another one.
_WIDER = (
    (
        "inbox",
        "CHECK (modality IN ('words', 'time', 'decision', 'note', 'event'))",
        "CHECK (modality IN ('words', 'time', 'decision', 'note', 'event', 'sense'))",
    ),
    (
        "ticks",
        "CHECK (kind IN ('due', 'surprise', 'wake'))",
        "CHECK (kind IN ('due', 'surprise', 'sense', 'result', 'visit_end', 'wake', 'awakening'))",
    ),
)


def upgrade() -> None:
    """Append what a mind needs to perceive more than words, and to turn to people by itself."""
    connection = op.get_bind()
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    for table, before, after in _WIDER:
        connection.exec_driver_sql(
            "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE type = 'table' AND name = ?",
            (before, after, table),
        )
    connection.exec_driver_sql("PRAGMA writable_schema = RESET")
    for statement in CHANGES:
        op.execute(statement)
