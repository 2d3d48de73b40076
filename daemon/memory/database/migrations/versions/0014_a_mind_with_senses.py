"""A mind with senses: what reaches a soul beside words, who invited it and when it may speak, and where it awoke."""

from alembic import op

revision = "0014"
down_revision = "0013"

SENSES: tuple[str, ...] = (
    # What a soul perceives beside words, in the conversation where it waits for the next thought. `sense` names who or
    # what reports. Of equal ones (`digest`) that wait the newest is kept, with their number `n`. One that was perceived
    # names the cycle in which, when, and a digest (`said`) of what was thought then; one that was dropped, where too
    # much waited, keeps no words, and names the cycle that heard of it. `concerns` is the goal that it tells of, ''
    # for none. At `wakes_ms` it wakes a thought, NULL for never, or once it has.
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
      perceived_by TEXT NOT NULL DEFAULT '',
      perceived_ms INTEGER,
      said TEXT NOT NULL DEFAULT '',
      wakes_ms INTEGER
    ) STRICT
    """,
    "CREATE INDEX readings_waiting ON readings (conversation, seq) WHERE state = 'waiting'",
    "CREATE INDEX readings_dropped ON readings (soul, state, at_ms) WHERE state = 'dropped'",
    "CREATE INDEX readings_unheard_of ON readings (conversation, seq) WHERE state = 'dropped' AND perceived_by = ''",
    "CREATE INDEX readings_perceived ON readings (conversation, digest, seq) WHERE state = 'perceived'",
    "CREATE INDEX readings_that_wake ON readings (soul, workspace, wakes_ms) WHERE wakes_ms IS NOT NULL",
    "CREATE INDEX readings_by_age ON readings (at_ms)",
    "CREATE INDEX goals_open_here ON goals (conversation, touched_ms) WHERE state = 'open'",
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

INITIATIVE: tuple[str, ...] = (
    # To whom a soul may write unasked: `who` is a person, or a channel for its threads. `how` and `granted_by` say who
    # decided. A pause of `pause_ms` ends at `until_ms`; the next is twice as long. `asked_ms` is when the soul asked.
    "ALTER TABLE invitations RENAME TO invitations_before",
    """
    CREATE TABLE invitations (
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      who TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('unasked', 'invited', 'declined')),
      how TEXT NOT NULL DEFAULT '' CHECK (how IN ('', 'phrase', 'click', 'admin')),
      granted_by TEXT NOT NULL DEFAULT '',
      pause_ms INTEGER NOT NULL DEFAULT 0,
      until_ms INTEGER NOT NULL DEFAULT 0,
      asked_ms INTEGER,
      at_ms INTEGER NOT NULL,
      PRIMARY KEY (soul, workspace, who)
    ) STRICT, WITHOUT ROWID
    """,
    """
    INSERT INTO invitations (soul, workspace, who, state, how, granted_by, at_ms)
    SELECT soul, workspace, person, CASE invited WHEN 1 THEN 'invited' ELSE 'declined' END, 'phrase', person, at_ms
    FROM invitations_before
    """,
    "DROP TABLE invitations_before",
    # What was said unasked: to `person`, by the invitation of `who`; `post` is its first row of the outbox. `disliked`:
    # it was answered by a pause already.
    "ALTER TABLE initiatives RENAME TO initiatives_before",
    """
    CREATE TABLE initiatives (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      conversation TEXT NOT NULL,
      who TEXT NOT NULL,
      person TEXT NOT NULL,
      promised INTEGER NOT NULL DEFAULT 0 CHECK (promised IN (0, 1)),
      post TEXT NOT NULL DEFAULT '',
      disliked INTEGER NOT NULL DEFAULT 0 CHECK (disliked IN (0, 1)),
      at_ms INTEGER NOT NULL
    ) STRICT
    """,
    """
    INSERT INTO initiatives (seq, soul, workspace, conversation, who, person, at_ms)
    SELECT seq, soul, workspace, conversation, person, person, at_ms FROM initiatives_before ORDER BY seq
    """,
    "DROP TABLE initiatives_before",
    "CREATE INDEX initiatives_by_who ON initiatives (who, workspace, soul, seq)",
    "CREATE INDEX initiatives_by_person ON initiatives (person, workspace)",
    "CREATE INDEX initiatives_by_conversation ON initiatives (conversation, seq)",
    "CREATE INDEX initiatives_by_post ON initiatives (post) WHERE post <> ''",
    # Which of them spoke of the matter last.
    "ALTER TABLE ticks ADD COLUMN spoken INTEGER NOT NULL DEFAULT 0",
    # In which hours and zone a post isn't begun, since nobody asked for it: `20:00-08:00 Europe/Berlin`.
    "ALTER TABLE outbox ADD COLUMN quiet TEXT NOT NULL DEFAULT ''",
)

IDENTITY: tuple[str, ...] = (
    # In which workspaces a soul has an inner room, opened at `began_ms` for its first thought; that was thought at
    # `woke_ms`, NULL before. A daemon lived at `seen_ms` that hosts it, where it `thinks` by itself, or not by now.
    """
    CREATE TABLE awakenings (
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      began_ms INTEGER NOT NULL,
      woke_ms INTEGER,
      seen_ms INTEGER NOT NULL,
      thinks INTEGER NOT NULL CHECK (thinks IN (0, 1)),
      PRIMARY KEY (soul, workspace)
    ) STRICT, WITHOUT ROWID
    """,
    # Nothing leaves an inner room, whoever should want to post there: neither a reply nor a note of the daemon's own.
    """
    CREATE TRIGGER inner_rooms_are_silent BEFORE INSERT ON outbox WHEN NEW.conversation GLOB '*/*/inner/*' BEGIN
      SELECT RAISE(IGNORE);
    END
    """,
)

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
    # What is promised, which a soul that doesn't think by itself looks for among all its goals.
    """
    CREATE INDEX goals_owed ON goals (soul, workspace, due_ms)
    WHERE state = 'open' AND follow_up = 1 AND kept_ms IS NULL AND said_in <> ''
    """,
)

NOTES: tuple[str, ...] = (
    # Which thought noted a record; once that thought has lost its words the note is `adrift`: it is shown to no reader
    # any more, and soon forgotten.
    """
    CREATE TABLE thought_notes (
      record TEXT PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
      thought TEXT NOT NULL,
      adrift INTEGER NOT NULL DEFAULT 0 CHECK (adrift IN (0, 1))
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX thought_notes_by_thought ON thought_notes (thought)",
    "CREATE INDEX thought_notes_adrift ON thought_notes (record) WHERE adrift = 1",
)

CHANGES: tuple[str, ...] = (*SENSES, *INITIATIVE, *IDENTITY, *MOMENTS, *NOTES)

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
