"""A mind that is shared: typed contexts with versions, who is present at them, and the sessions that people run."""

from alembic import op

from daemon.memory.database.migrations.beside import BESIDE

revision = "0007"
down_revision = "0006"

# Typed state that souls and people share under a key; a key that was never written has no row.
CONTEXTS: tuple[str, ...] = (
    """
    CREATE TABLE shared_context (
      context_key TEXT PRIMARY KEY,
      data TEXT NOT NULL DEFAULT '{}' CHECK (json_type(data) = 'object'),
      version INTEGER NOT NULL DEFAULT 0,        -- counts changes of the data
      audience TEXT NOT NULL,                    -- who may read it
      writers TEXT NOT NULL DEFAULT '[]' CHECK (json_type(writers) = 'array'), -- souls; none: all of this file
      form TEXT NOT NULL DEFAULT '' CHECK (form = '' OR json_type(form) = 'object'), -- JSON Schema; '': any object
      author TEXT NOT NULL DEFAULT '',           -- of the newest version: a soul's name, or 'operator'
      updated_ms INTEGER NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE shared_context_history (
      context_key TEXT NOT NULL REFERENCES shared_context (context_key) ON DELETE CASCADE,
      version INTEGER NOT NULL,
      data TEXT NOT NULL CHECK (json_type(data) = 'object'),
      author TEXT NOT NULL,
      at_ms INTEGER NOT NULL,
      redacted INTEGER NOT NULL DEFAULT 0 CHECK (redacted IN (0, 1)), -- without the words of a forgotten person
      PRIMARY KEY (context_key, version)
    ) STRICT, WITHOUT ROWID
    """,
)

# Sessions of Claude Code, and the keys with which their hooks come.
SESSIONS: tuple[str, ...] = (
    """
    CREATE TABLE keys (
      id TEXT PRIMARY KEY,
      hash TEXT NOT NULL,                        -- SHA-256 of the whole key, which is kept nowhere
      person TEXT NOT NULL,                      -- a Slack id; '': the admin's
      visibility TEXT NOT NULL CHECK (visibility IN ('hidden', 'project', 'topic')), -- what others see of its sessions
      remember INTEGER NOT NULL DEFAULT 0 CHECK (remember IN (0, 1)), -- whether what its sessions say is kept
      direct INTEGER NOT NULL DEFAULT 0 CHECK (direct IN (0, 1)), -- whether its sessions know its person's DM
      created_ms INTEGER NOT NULL,
      revoked_ms INTEGER
    ) STRICT
    """,
    """
    CREATE TABLE sessions (
      id TEXT PRIMARY KEY,                       -- as the client names it
      key TEXT NOT NULL,                         -- the key with which it came; '': the admin's token
      person TEXT NOT NULL,                      -- whose it is, a Slack id; '': the admin's
      workspace TEXT NOT NULL,
      visibility TEXT NOT NULL CHECK (visibility IN ('hidden', 'project', 'topic')),
      name TEXT NOT NULL,                        -- what people call it
      person_name TEXT NOT NULL,
      project TEXT NOT NULL,
      cwd TEXT NOT NULL,
      root TEXT NOT NULL,                        -- of its git repository; '': none
      branch TEXT NOT NULL,
      host TEXT NOT NULL,
      process TEXT NOT NULL,                     -- as in presence
      model TEXT NOT NULL,
      source TEXT NOT NULL,                      -- of its newest start
      permission_mode TEXT NOT NULL,
      attended INTEGER CHECK (attended IN (0, 1)),
      state TEXT NOT NULL CHECK (state IN ('working', 'idle', 'waits', 'gone')),
      reason TEXT NOT NULL,
      topic TEXT NOT NULL,
      started_ms INTEGER NOT NULL,
      seen_ms INTEGER NOT NULL,
      ended_ms INTEGER,
      sent_ms INTEGER NOT NULL,                  -- of its newest event, by its own clock
      offset_ms INTEGER NOT NULL,                -- how far our clock was ahead of that then
      companion TEXT NOT NULL DEFAULT '',        -- the daemon at which its companion waits, as in presence; '': none
      wakes INTEGER NOT NULL DEFAULT 0 CHECK (wakes IN (0, 1)), -- whether that wakes the session while it rests
      CHECK ((ended_ms IS NOT NULL) = (state = 'gone'))
    ) STRICT
    """,
    "CREATE UNIQUE INDEX sessions_by_name ON sessions (workspace, name) WHERE state <> 'gone'",
    "CREATE INDEX sessions_by_process ON sessions (process) WHERE process <> ''",
    "CREATE INDEX sessions_by_age ON sessions (seen_ms)",
    "CREATE INDEX sessions_by_companion ON sessions (companion) WHERE companion <> ''",
    # Up to a daemon's last heartbeat the sessions lived whose companions waited there.
    """
    CREATE TRIGGER companions_go_with_their_daemon AFTER DELETE ON presence
    BEGIN
      UPDATE sessions SET companion = '', wakes = 0, seen_ms = max(seen_ms, OLD.seen_ms)
      WHERE companion = OLD.id AND companion <> '';
    END
    """,
    "CREATE INDEX sessions_by_person ON sessions (workspace, person, key)",
    # Each event of a session counts once.
    """
    CREATE TABLE session_events (
      id TEXT PRIMARY KEY,
      at_ms INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX session_events_by_age ON session_events (at_ms)",
    # Which sessions met in the same repository and branch, and whether the one has heard of the other.
    """
    CREATE TABLE session_siblings (
      session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      sibling TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      named INTEGER NOT NULL DEFAULT 0 CHECK (named IN (0, 1)),
      PRIMARY KEY (session, sibling)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX session_siblings_by_sibling ON session_siblings (sibling)",
)

# Codes by which machines get keys without an admin; a person writes one to the soul. Each is short-lived.
PAIRING: tuple[str, ...] = (
    """
    CREATE TABLE pairings (
      id TEXT PRIMARY KEY,
      workspace TEXT NOT NULL,
      front TEXT NOT NULL,                       -- SHA-256 of the first half of the code, by which it is found
      code TEXT NOT NULL,                        -- of the whole code
      secret TEXT NOT NULL,                      -- of what the machine fetches the key with
      machine TEXT NOT NULL,                     -- as it calls itself
      state TEXT NOT NULL CHECK (state IN ('open', 'asked', 'allowed', 'refused', 'fetched', 'dead')),
      tries INTEGER NOT NULL DEFAULT 0,          -- wrong ones
      person TEXT NOT NULL DEFAULT '',           -- who typed it, a Slack id; '': nobody yet
      approval TEXT NOT NULL DEFAULT '',         -- that asks them
      key TEXT NOT NULL DEFAULT '',              -- the id of the key that they allowed, and what it may:
      visibility TEXT NOT NULL DEFAULT 'project' CHECK (visibility IN ('hidden', 'project', 'topic')),
      remember INTEGER NOT NULL DEFAULT 0 CHECK (remember IN (0, 1)),
      direct INTEGER NOT NULL DEFAULT 0 CHECK (direct IN (0, 1)),
      created_ms INTEGER NOT NULL,
      until_ms INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX pairings_by_age ON pairings (created_ms)",
    "CREATE INDEX pairings_by_code ON pairings (workspace, front)",
    """
    CREATE TABLE wrong_codes (
      id INTEGER PRIMARY KEY,
      workspace TEXT NOT NULL,
      person TEXT NOT NULL,                      -- who typed it, a Slack id
      at_ms INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX wrong_codes_by_person ON wrong_codes (workspace, person, at_ms)",
    "CREATE INDEX wrong_codes_by_age ON wrong_codes (at_ms)",
)

# Up to when a forgotten person's words are not taken in again from the platform's history, by the platform's own clock.
FORGETTING: tuple[str, ...] = (
    "ALTER TABLE tombstones ADD COLUMN said_ms INTEGER NOT NULL DEFAULT 0",
    "UPDATE tombstones SET said_ms = CASE forgotten_ms WHEN 0 THEN asked_ms ELSE forgotten_ms END",
)

# Who is present at a context now; a row goes with its process or its lease.
AWARENESS: tuple[str, ...] = (
    """
    CREATE TABLE awareness (
      context_key TEXT NOT NULL,
      member TEXT NOT NULL,
      process TEXT NOT NULL,                     -- that it goes with; 'http': with its lease
      state TEXT NOT NULL CHECK (json_type(state) = 'object'),
      places TEXT NOT NULL DEFAULT '[]' CHECK (json_type(places) = 'array'), -- where, each with who may know
      seen_ms INTEGER NOT NULL,
      until_ms INTEGER,                          -- the end of its lease; NULL: as long as its process lives
      PRIMARY KEY (context_key, member)
    ) STRICT, WITHOUT ROWID
    """,
)

# What nights owe to broken models: each fault counts once a night, and closing visits is paid for by the night.
NIGHTS: tuple[str, ...] = (
    "ALTER TABLE consolidation_items ADD COLUMN fault_slot_ms INTEGER NOT NULL DEFAULT 0",  # of the last fault
    "ALTER TABLE consolidation_slots ADD COLUMN learned_tokens INTEGER NOT NULL DEFAULT 0",  # by jobs meanwhile
)

# What one of the daemons does for all of them, and who is at it.
DUTIES: tuple[str, ...] = (
    """
    CREATE TABLE duties (
      name TEXT PRIMARY KEY,
      due_ms INTEGER NOT NULL,
      asked INTEGER NOT NULL DEFAULT 0,          -- how often it was asked for
      lease_owner TEXT NOT NULL DEFAULT '',      -- as in presence; '': no daemon
      lease_until INTEGER NOT NULL DEFAULT 0
    ) STRICT, WITHOUT ROWID
    """,
)

# Notes of souls among themselves, and what people have them ask of sessions. The ledger follows the inbox, in which
# notes to souls are perceived; a question to a session waits here until it is let through, read and answered.
NOTES: tuple[str, ...] = (
    """
    CREATE TABLE shared_messages (
      id TEXT PRIMARY KEY,
      kind TEXT NOT NULL CHECK (kind IN ('note', 'answer', 'question', 'task', 'said')),
      sender TEXT NOT NULL,                      -- a soul's name, 'operator', or the session that answers
      addressee TEXT NOT NULL,                   -- the same
      workspace TEXT NOT NULL,
      conversation TEXT NOT NULL,                -- from which it comes; '': none
      heard_in TEXT NOT NULL,                    -- the conversation in which it is perceived; '': none
      inbox TEXT NOT NULL,                       -- the row there; '': none
      behalf TEXT NOT NULL,                      -- the person whose words led to it; '': none
      audience TEXT NOT NULL,                    -- who may know its words
      hops INTEGER NOT NULL,                     -- from that person's words
      answers TEXT NOT NULL DEFAULT '',          -- the note that it answers
      state TEXT NOT NULL
        CHECK (state IN ('held', 'waiting', 'delivered', 'answered', 'refused', 'expired', 'dropped')),
      reason TEXT NOT NULL DEFAULT '',
      how TEXT NOT NULL DEFAULT '' CHECK (how IN ('', 'socket', 'stop', 'fetch', 'inbox')),
      created_ms INTEGER NOT NULL,
      delivered_ms INTEGER,
      answered_ms INTEGER,
      words TEXT NOT NULL,
      -- of questions and tasks for a session, and of the answers to them:
      owner TEXT NOT NULL DEFAULT '',            -- the person whose session it is; '': forgotten
      called TEXT NOT NULL DEFAULT '',           -- the session's name when it was asked
      asker TEXT NOT NULL DEFAULT '',            -- the name of the person who asks
      reply_to TEXT NOT NULL DEFAULT '',         -- the thread in which the answer is read
      said_ts TEXT NOT NULL DEFAULT '',          -- of the message in which it was asked
      bound INTEGER NOT NULL DEFAULT 0 CHECK (bound IN (0, 1)), -- whether it goes there because its thread is bound
      prompt TEXT NOT NULL DEFAULT '',           -- the turn of the session at whose end it was handed out
      offers INTEGER NOT NULL DEFAULT 0,         -- how often the session was woken with it
      offered_ms INTEGER NOT NULL DEFAULT 0,     -- the last time; 0: never
      let_ms INTEGER,                            -- since when it may be read there; NULL: not yet
      said_late INTEGER NOT NULL DEFAULT 0 CHECK (said_late IN (0, 1)), -- whether it was said that no answer came
      said_gone INTEGER NOT NULL DEFAULT 0 CHECK (said_gone IN (0, 1))  -- or that the session is gone
    ) STRICT
    """,
    """
    CREATE INDEX shared_messages_open ON shared_messages (addressee, created_ms)
    WHERE kind IN ('question', 'task') AND state IN ('held', 'waiting', 'delivered')
    """,
    """
    CREATE INDEX shared_messages_to_session ON shared_messages (addressee, created_ms)
    WHERE kind IN ('question', 'task')
    """,
    "CREATE INDEX shared_messages_by_age ON shared_messages (created_ms)",
    "CREATE INDEX shared_messages_sent ON shared_messages (conversation, created_ms)",
    "CREATE INDEX shared_messages_heard ON shared_messages (heard_in, created_ms)",
    "CREATE UNIQUE INDEX shared_messages_by_inbox ON shared_messages (inbox) WHERE inbox <> ''",
    "CREATE INDEX shared_messages_by_person ON shared_messages (behalf) WHERE behalf <> ''",
    """
    CREATE TRIGGER notes_follow_the_inbox AFTER UPDATE OF state ON inbox
    WHEN NEW.modality = 'note' AND OLD.state IN ('new', 'claimed') AND NEW.state NOT IN ('new', 'claimed')
    BEGIN
      UPDATE shared_messages SET reason = NEW.reason,
        state = CASE NEW.state WHEN 'answered' THEN 'delivered' WHEN 'stale' THEN 'expired' ELSE 'dropped' END,
        how = CASE NEW.state WHEN 'answered' THEN 'inbox' ELSE '' END,
        delivered_ms = CASE NEW.state WHEN 'answered' THEN NEW.settled_ms END
      WHERE inbox = NEW.id AND inbox <> '' AND state = 'waiting';
    END
    """,
    """
    CREATE TRIGGER notes_leave_the_inbox AFTER DELETE ON shared_messages WHEN OLD.inbox <> ''
    BEGIN
      UPDATE inbox SET body = '', params = '{}', author = '', cleared = 1, revision = revision + 1,
        state = CASE WHEN state IN ('new', 'claimed') THEN 'withdrawn' ELSE state END
      WHERE id = OLD.inbox;
    END
    """,
)

# Threads that belong to a session: what people say there goes to it in place of the soul.
BOUND: tuple[str, ...] = (
    """
    CREATE TABLE bound_threads (
      conversation TEXT PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE,
      session TEXT NOT NULL UNIQUE,
      workspace TEXT NOT NULL,
      person TEXT NOT NULL,                      -- whose session it is, a Slack id; '': the admin's
      everybody INTEGER NOT NULL CHECK (everybody IN (0, 1)), -- whether what others say goes there, too
      bound_ms INTEGER NOT NULL,
      gone_ms INTEGER                            -- since when the session is gone, as was said there; NULL: it is there
    ) STRICT, WITHOUT ROWID
    """,
)

# Which soul a thread was handed to: each soul that had it before names the one that has it now.
HANDED: tuple[str, ...] = (
    "ALTER TABLE conversations ADD COLUMN handed_to TEXT NOT NULL DEFAULT ''",  # a soul; '': none
    "CREATE INDEX conversations_handed ON conversations (workspace, channel, thread) WHERE handed_to <> ''",
)

# Which conversations' words were for everybody once and may be spread further than they are for now, whatever the
# conversation is for meanwhile: a channel that is shared with others is for its members, and what was learned before
# is for everybody still.
OPEN: tuple[str, ...] = (
    "ALTER TABLE conversations ADD COLUMN opened INTEGER NOT NULL DEFAULT 0 CHECK (opened IN (0, 1))",
    """
    UPDATE conversations SET opened = 1 WHERE audience GLOB 'workspace:*'
      OR EXISTS (SELECT 1 FROM turns t WHERE t.conversation = conversations.id AND t.audience GLOB 'workspace:*')
    """,
    "CREATE INDEX conversations_open ON conversations (workspace, channel) WHERE opened",
    *(
        f"""
        CREATE TRIGGER conversations_{name} AFTER {change} ON conversations
        WHEN NEW.audience GLOB 'workspace:*' AND NOT NEW.opened
        BEGIN
          UPDATE conversations SET opened = 1 WHERE id = NEW.id;
        END
        """  # noqa: S608 - constants
        for name, change in (("begun_open", "INSERT"), ("opened", "UPDATE OF audience"))
    ),
)

# Files that were read for a message that was never answered, by age.
FILES: tuple[str, ...] = ("CREATE INDEX shared_files_read ON shared_files (heard_ms) WHERE state = 'read'",)
# A post that was under way when the message that it answers was forgotten loses its words as it is settled.
FORGOTTEN_POSTS: tuple[str, ...] = (
    """
    CREATE TRIGGER forgotten_posts_lose_their_words AFTER UPDATE OF state ON outbox
    WHEN OLD.state IN ('pending', 'sending') AND NEW.state NOT IN ('drafting', 'pending', 'sending') AND NEW.cleared = 0
    BEGIN
      UPDATE outbox SET body = '', cleared = 1 WHERE id = NEW.id AND EXISTS (
        SELECT 1 FROM inbox i WHERE i.cleared = 1
          AND i.answered_by = substr(NEW.id, 1, length(NEW.id) - length(NEW.part)) || '0');
    END
    """,
)
# Up to which turn a person's words in one conversation were looked through, and up to which a job was to do it; those
# in another conversation have a lull of their own.
LEARNED: tuple[str, ...] = (
    """
    CREATE TABLE looked_through (
      conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
      person TEXT NOT NULL,                      -- platform id
      up_to INTEGER NOT NULL,                    -- seq of a turn; 0: none yet
      wanted_to INTEGER NOT NULL DEFAULT 0,      -- seq of the newest turn that a job was queued for
      PRIMARY KEY (conversation, person)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX looked_through_not_yet ON looked_through (conversation, person) WHERE wanted_to > up_to",
    """
    INSERT INTO looked_through (conversation, person, up_to)
    SELECT t.conversation, t.author, max(t.seq) FROM turns t JOIN conversations c ON c.id = t.conversation
      JOIN user_models m ON m.soul = c.soul AND m.workspace = c.workspace AND m.person = t.author
        AND m.audience = t.audience
    WHERE t.speaker = 'person' AND t.seq <= m.modelled_to GROUP BY t.conversation, t.author
    """,
)


# A CHECK that lets more pass changes no row, so that the table need not be made anew (sqlite.org/lang_altertable.html,
# section 7); the statements that follow tell other connections that the schema is another one.
_MODALITIES = "CHECK (modality IN ('words', 'time', 'decision'))"
_AND_NOTES = "CHECK (modality IN ('words', 'time', 'decision', 'note'))"


def upgrade() -> None:
    """Make the changes, area by area."""
    _let_notes_in()
    areas = (
        CONTEXTS,
        BESIDE,
        SESSIONS,
        PAIRING,
        FORGETTING,
        AWARENESS,
        DUTIES,
        NIGHTS,
        NOTES,
        BOUND,
        HANDED,
        OPEN,
        FILES,
        FORGOTTEN_POSTS,
        LEARNED,
    )
    for statement in (one for area in areas for one in area):
        op.execute(statement)


def _let_notes_in() -> None:
    connection = op.get_bind()
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    connection.exec_driver_sql(
        "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE type = 'table' AND name = 'inbox'",
        (_MODALITIES, _AND_NOTES),
    )
    connection.exec_driver_sql("PRAGMA writable_schema = RESET")
