"""Memory that can be trusted: records with evidence, links between them, who may hear them, what was forgotten."""

from alembic import op

from daemon.memory.database.migrations.intentions import INTENTIONS
from daemon.memory.database.migrations.nights import NIGHTS
from daemon.memory.database.migrations.notes_become_facts import move_notes
from daemon.memory.database.migrations.passports import PASSPORT
from daemon.memory.database.migrations.recall import RECALL
from daemon.memory.database.migrations.vector_triggers import queued, triggers

revision = "0006"
down_revision = "0005"

# How often words were taken away in a conversation, by which a cycle notices that it has read words that are gone.
_FORGOTTEN = "ALTER TABLE conversations ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0"

# What a turn says of itself: how it was felt, what it is about, how sure it is.
TURN_FIELDS: tuple[str, ...] = (
    "ALTER TABLE turns ADD COLUMN emotion_signal TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE turns ADD COLUMN salience_anchor TEXT NOT NULL DEFAULT '[]'",  # JSON: key words of the message
    "ALTER TABLE turns ADD COLUMN intent TEXT NOT NULL DEFAULT ''",  # only where the model was sure
    "ALTER TABLE turns ADD COLUMN intent_confidence REAL NOT NULL DEFAULT 0.0",
    """
    ALTER TABLE turns ADD COLUMN epistemic_mode TEXT NOT NULL DEFAULT 'assert'
      CHECK (epistemic_mode IN ('explore', 'hypothesize', 'assert', 'caution', 'reflect'))
    """,
    "ALTER TABLE turns ADD COLUMN confidence REAL NOT NULL DEFAULT 0.5 CHECK (confidence BETWEEN 0 AND 1)",
    # Where each person said that they are, by platform id; of the visit that is going on.
    "ALTER TABLE conversations ADD COLUMN locations TEXT NOT NULL DEFAULT '{}'",
)

# One table for what all records have, one more for each kind, and the links between them.
RECORDS: tuple[str, ...] = (
    """
    CREATE TABLE records (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,     -- never used again: indexes know a record by it
      id TEXT NOT NULL UNIQUE,                   -- EP_20260128_001, sem_0a1b2c3d, SMEM_20260128_001 …
      kind TEXT NOT NULL,
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      audience TEXT NOT NULL,                    -- who may ever hear it
      channel TEXT NOT NULL,                     -- where it comes from; before outsiders it is told nowhere else
      conversation TEXT REFERENCES conversations (id) ON DELETE SET NULL,
      person TEXT NOT NULL DEFAULT '',           -- platform id of whom it is about, or who said it
      trust TEXT NOT NULL CHECK (trust IN ('own', 'claim', 'document', 'inferred', 'noted')),
      significance INTEGER NOT NULL CHECK (significance BETWEEN 1 AND 10),
      text TEXT NOT NULL,                        -- the line that is searched and shown
      at_ms INTEGER NOT NULL,                    -- when it happened
      created_ms INTEGER NOT NULL,
      updated_ms INTEGER NOT NULL,
      extra TEXT NOT NULL DEFAULT '{}'           -- JSON: fields of a passport that this program doesn't know
    ) STRICT
    """,
    "CREATE INDEX records_by_kind ON records (soul, workspace, kind, at_ms)",
    "CREATE INDEX records_by_audience ON records (soul, audience, kind, at_ms)",
    "CREATE INDEX records_by_person ON records (person, kind, soul, workspace, audience)",
    "CREATE INDEX records_by_conversation ON records (conversation, kind, at_ms) WHERE conversation IS NOT NULL",
    # The last number of each series of ids: EP_20260128, core …; a number is never given twice.
    "CREATE TABLE record_ids (series TEXT PRIMARY KEY, last INTEGER NOT NULL) STRICT",
    # A link is read from both ends. Turns are TU_ or TL_ and their number.
    """
    CREATE TABLE links (
      origin TEXT NOT NULL,
      relation TEXT NOT NULL,
      target TEXT NOT NULL,
      quote TEXT NOT NULL DEFAULT '',            -- the words of the target that prove the origin
      linked_ms INTEGER NOT NULL,
      PRIMARY KEY (origin, relation, target)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX links_back ON links (target, relation)",
    """
    CREATE TABLE episodes (
      id TEXT PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
      state TEXT NOT NULL CHECK (state IN ('open', 'closing', 'closed', 'distilled')),
      persona_id TEXT NOT NULL DEFAULT '',
      event_id TEXT NOT NULL DEFAULT '',
      session_id TEXT NOT NULL DEFAULT '',       -- of the conversation's visit
      visit INTEGER NOT NULL DEFAULT 0,
      situation TEXT NOT NULL DEFAULT '{}',      -- JSON: place, role, stakes …
      summary TEXT NOT NULL DEFAULT '{}',        -- JSON: content, action taken, key outcome, future implication
      workflow TEXT NOT NULL DEFAULT '{}',       -- JSON: current task, completed and pending items
      state_snapshot TEXT NOT NULL DEFAULT '{}', -- JSON
      tags TEXT NOT NULL DEFAULT '[]',           -- JSON
      cues TEXT NOT NULL DEFAULT '[]',           -- JSON
      closed_ms INTEGER
    ) STRICT
    """,
    "CREATE INDEX episodes_by_state ON episodes (state)",
    """
    CREATE TABLE facts (
      id TEXT PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
      subject TEXT NOT NULL,
      predicate TEXT NOT NULL,
      object TEXT NOT NULL,
      topic TEXT NOT NULL CHECK (topic IN ('role', 'answering', 'work', 'preference', 'other')),
      confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
      claimed_by TEXT NOT NULL DEFAULT '',       -- platform id
      valid_from_ms INTEGER NOT NULL,
      valid_until_ms INTEGER,
      why_ended TEXT NOT NULL DEFAULT '',        -- superseded, retired, wrong, unquoted; a newer fact is linked
      used INTEGER NOT NULL DEFAULT 0,
      used_ms INTEGER
    ) STRICT
    """,
    "CREATE INDEX facts_by_subject ON facts (subject, predicate)",
    """
    CREATE TABLE senses (
      id TEXT PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
      data_type TEXT NOT NULL CHECK (data_type IN ('image', 'audio', 'visual_pattern', 'text_visual', 'document')),
      source TEXT NOT NULL DEFAULT 'perception',
      name TEXT NOT NULL DEFAULT '',             -- of the file, as its sender called it
      media_type TEXT NOT NULL DEFAULT '',
      raw_data_ref TEXT NOT NULL DEFAULT '',     -- digest of the bytes in SOUL_HOME/senses
      bytes INTEGER NOT NULL DEFAULT 0,
      qualia TEXT NOT NULL DEFAULT '{}',         -- JSON
      features TEXT NOT NULL DEFAULT '{}',       -- JSON: description, visible text …
      physio_snapshot TEXT NOT NULL DEFAULT '{}' -- JSON
    ) STRICT
    """,
    "CREATE INDEX senses_by_bytes ON senses (raw_data_ref) WHERE raw_data_ref <> ''",
    """
    CREATE TABLE journal (
      id TEXT PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
      tone TEXT NOT NULL DEFAULT '',
      tags TEXT NOT NULL DEFAULT '[]'            -- JSON
    ) STRICT
    """,
    # Every write, chained; a digest is salted, so that forgetting the salt forgets the words.
    """
    CREATE TABLE ledger (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      act TEXT NOT NULL,
      object TEXT NOT NULL,                      -- id of a record, a turn, an audit row
      reason TEXT NOT NULL DEFAULT '',           -- never words of people
      salt TEXT NOT NULL DEFAULT '',
      digest TEXT NOT NULL,                      -- of salt and content
      chain TEXT NOT NULL,                       -- of the row before and this one
      at_ms INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX ledger_by_object ON ledger (object)",
    # The words of records, in the form of the index over turns.
    """
    CREATE TABLE record_words (
      seq INTEGER PRIMARY KEY,                   -- of the record
      readers TEXT NOT NULL,                     -- codes of who may find it
      words TEXT NOT NULL                        -- in the form in which they are compared, each once
    ) STRICT
    """,
    """
    CREATE VIRTUAL TABLE record_index USING fts5
      (entries, content = '', columnsize = 0, detail = none, tokenize = 'ascii', prefix = '15 16 17')
    """,
)

# What is under way, and full-text indexes that were found damaged.
CLAIMS: tuple[str, ...] = (
    """
    CREATE INDEX IF NOT EXISTS conversations_under_way ON conversations (soul, workspace, waiting_person, lease_until)
    WHERE lease_owner <> ''
    """,
    """
    CREATE TABLE distrusted_indexes (
      name TEXT PRIMARY KEY,
      rebuilt_to INTEGER NOT NULL                -- the last row that it holds as it should; -1: empty it first
    ) STRICT
    """,
)

# The vectors follow turns, records and passages (LB_ and their number): ids, and the columns that are embedded.
_TURN_ID = "CASE {row}.speaker WHEN 'person' THEN 'TU_' ELSE 'TL_' END || {row}.seq"
_EMBEDDED = (
    ("turns", _TURN_ID, "body, name, audience, kind"),
    ("records", "{row}.id", "text, audience, channel"),
    ("library_passages", "'LB_' || {row}.seq", "body, path"),
)


# Full-text and vector search: what waits to be embedded, what was shown of late.
RETRIEVAL: tuple[str, ...] = (
    # What is new, changed or gone, and orders, which begin with "!". Triggers write it, so that nothing that is stored
    # goes past it; a change while an id is worked on gives it a new seq.
    "CREATE TABLE vector_queue (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE) STRICT",
    *(trigger for one in _EMBEDDED for trigger in triggers(*one)),
    # A turn is embedded together with the one before, too.
    *(
        queued(
            f"turns_{name}_follower",
            f"{change} ON turns",
            f"""
            SELECT {_TURN_ID.format(row="t")} FROM turns t WHERE t.seq =
              (SELECT min(seq) FROM turns WHERE conversation = OLD.conversation AND seq > OLD.seq)
            """,  # noqa: S608 - literals of this module
        )
        for name, change in (("changed", "UPDATE OF body, name, audience, kind"), ("deleted", "DELETE"))
    ),
    *RECALL,
)

# Which private rooms a person is a member of.
AUDIENCES: tuple[str, ...] = (
    """
    CREATE TABLE room_lists (
      workspace TEXT NOT NULL,
      person TEXT NOT NULL,                      -- platform id
      app TEXT NOT NULL,                         -- platform id of our account: it sees the rooms that it is in itself
      changes INTEGER NOT NULL DEFAULT 0,        -- how often news outdated it
      read_ms INTEGER NOT NULL DEFAULT 0,        -- 0: it has to be read anew
      touched_ms INTEGER NOT NULL,
      PRIMARY KEY (workspace, person, app)
    ) STRICT
    """,
    """
    CREATE TABLE room_members (
      workspace TEXT NOT NULL,
      person TEXT NOT NULL,
      app TEXT NOT NULL,
      room TEXT NOT NULL,                        -- id of a private channel
      PRIMARY KEY (workspace, person, app, room)
    ) STRICT, WITHOUT ROWID
    """,
    # How often a channel was made private; replies that were begun before that may rest on its words.
    "CREATE TABLE narrowings (workspace TEXT PRIMARY KEY, times INTEGER NOT NULL) STRICT",
    # Whether all who read there were full members when a reply last asked; NULL: it isn't known any more.
    "ALTER TABLE conversations ADD COLUMN members_only INTEGER CHECK (members_only IN (0, 1))",
    "CREATE INDEX conversations_by_audience ON conversations (workspace, audience, channel)",
    "CREATE INDEX room_members_by_room ON room_members (workspace, room)",
    "CREATE INDEX room_lists_by_age ON room_lists (touched_ms)",
)

# The lines of notes are facts now; how many turns wait to be learned from.
LEARNING: tuple[str, ...] = (
    "ALTER TABLE user_models DROP COLUMN notes",
    "ALTER TABLE jobs ADD COLUMN gathered INTEGER NOT NULL DEFAULT 1",  # turns after which it was asked for
)

# Whom the soul was asked to forget, and whose words it must not keep.
FORGETTING: tuple[str, ...] = (
    # Said while its author had asked that nothing be remembered, or an answer to that: gone when the visit ends.
    "ALTER TABLE turns ADD COLUMN passing INTEGER NOT NULL DEFAULT 0 CHECK (passing IN (0, 1))",
    "CREATE INDEX turns_passing ON turns (conversation, said_ms) WHERE passing = 1",
    "CREATE INDEX turns_by_age ON turns (said_ms)",
    "CREATE INDEX turns_by_author ON turns (author, seq) WHERE speaker = 'person'",
    "CREATE INDEX inbox_by_author ON inbox (author, workspace)",
    "CREATE INDEX surfaced_by_id ON surfaced (id)",
    # What a person decided about being remembered, and when they learned that they are.
    """
    CREATE TABLE remembering (
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      person TEXT NOT NULL,                      -- platform id
      paused_ms INTEGER,                         -- since when nothing is to be remembered
      informed_ms INTEGER,                       -- when they learned that the soul remembers
      forget_until_ms INTEGER,                   -- until when they may confirm that all is to be forgotten
      PRIMARY KEY (soul, workspace, person)
    ) STRICT
    """,
    # The numbers of the newest list that a person was shown: `why 3` means its third line.
    """
    CREATE TABLE shown_facts (
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      person TEXT NOT NULL,
      facts TEXT NOT NULL,                       -- JSON: ids of facts
      newest TEXT NOT NULL DEFAULT '',           -- the fact that was asked about last
      shown_ms INTEGER NOT NULL,
      PRIMARY KEY (soul, workspace, person)
    ) STRICT
    """,
    # Who was forgotten, in a form that can't be read: by these a restored backup forgets again.
    """
    CREATE TABLE tombstones (
      id TEXT PRIMARY KEY,
      workspace TEXT NOT NULL,
      salt TEXT NOT NULL,
      digest TEXT NOT NULL,                      -- of salt and platform id
      state TEXT NOT NULL CHECK (state IN ('asked', 'erased', 'done')),
      person TEXT NOT NULL DEFAULT '',           -- platform id until it is done
      spared TEXT NOT NULL DEFAULT '',           -- conversation and inbox row that wait for the outcome
      stores TEXT NOT NULL DEFAULT '{}',         -- JSON: what was deleted, by store
      gone TEXT NOT NULL DEFAULT '[]',           -- JSON: ids of turns and records until their vectors are gone
      asked_ms INTEGER NOT NULL,
      forgotten_ms INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    "CREATE INDEX tombstones_by_time ON tombstones (workspace, forgotten_ms)",
    # The name of the file as which a post's body is sent.
    "ALTER TABLE outbox ADD COLUMN file TEXT NOT NULL DEFAULT ''",
)

# Visits that are closed, distilled and looked through by night.
EPISODES: tuple[str, ...] = NIGHTS

# Files that were sent.
SENSES: tuple[str, ...] = (
    """
    CREATE TABLE shared_files (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
      ts TEXT NOT NULL,                          -- of the message that shows it
      file TEXT NOT NULL,                        -- the platform's id
      name TEXT NOT NULL,                        -- as its sender called it
      media_type TEXT NOT NULL,                  -- as the platform says, then as it was found
      size INTEGER NOT NULL,
      url TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('waiting', 'read', 'refused', 'recorded')),
      reason TEXT NOT NULL DEFAULT '',           -- why it was refused
      kind TEXT NOT NULL DEFAULT '',             -- image, audio, document
      found TEXT NOT NULL DEFAULT '{}',          -- JSON: what was read of it, until its record is made
      digest TEXT NOT NULL DEFAULT '',           -- of the bytes in SOUL_HOME/senses, if they are kept
      kept INTEGER NOT NULL DEFAULT 0,           -- how many bytes these are
      record TEXT NOT NULL DEFAULT '',           -- id of its sense
      heard_ms INTEGER NOT NULL,
      UNIQUE (conversation, ts, file)
    ) STRICT
    """,
    "CREATE INDEX shared_files_by_message ON shared_files (ts)",
    "CREATE INDEX shared_files_waiting ON shared_files (conversation, state) WHERE state IN ('waiting', 'read')",
    "CREATE INDEX shared_files_unread ON shared_files (heard_ms) WHERE state IN ('waiting', 'refused')",
    "CREATE INDEX shared_files_kept ON shared_files (digest) WHERE digest <> ''",
    "CREATE INDEX shared_files_recorded ON shared_files (record) WHERE record <> ''",
    # Bytes that may belong to no file any more.
    "CREATE TABLE loose_bytes (digest TEXT PRIMARY KEY) STRICT",
    # A file goes with its message and with its record, by whichever way these go, and its bytes with their last file.
    """
    CREATE TRIGGER files_go_with_their_turn AFTER DELETE ON turns WHEN OLD.speaker = 'person' BEGIN
      DELETE FROM shared_files WHERE conversation = OLD.conversation AND ts = OLD.ts;
    END
    """,
    """
    CREATE TRIGGER files_go_with_their_sense AFTER DELETE ON senses BEGIN
      DELETE FROM shared_files WHERE record = OLD.id AND record <> '';
      INSERT INTO loose_bytes (digest) SELECT OLD.raw_data_ref WHERE OLD.raw_data_ref <> '' ON CONFLICT DO NOTHING;
    END
    """,
    """
    CREATE TRIGGER bytes_go_with_their_file AFTER DELETE ON shared_files WHEN OLD.digest <> '' BEGIN
      INSERT INTO loose_bytes (digest) VALUES (OLD.digest) ON CONFLICT DO NOTHING;
    END
    """,
)


def upgrade() -> None:
    """Make the changes, area by area."""
    known = {column[1] for column in op.get_bind().exec_driver_sql("PRAGMA table_info(conversations)")}
    if "forgotten" not in known:  # some files of schema 5 have it
        op.execute(_FORGOTTEN)
    for statement in (*CLAIMS, *TURN_FIELDS, *RECORDS):
        op.execute(statement)
    move_notes(op.get_bind())
    for statement in (
        *RETRIEVAL,
        *AUDIENCES,
        *LEARNING,
        *FORGETTING,
        *EPISODES,
        *SENSES,
        *INTENTIONS,
        *PASSPORT,
    ):
        op.execute(statement)
