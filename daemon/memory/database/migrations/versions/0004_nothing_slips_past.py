"""What keeps work moving in bad times: parked rows, catch-up's place, indexes for every hot query, fairness, rooms."""

from alembic import op

revision = "0004"
down_revision = "0003"

# Rows that fail in an unexpected way are counted, and parked.
PARKING: tuple[str, ...] = (
    "ALTER TABLE outbox ADD COLUMN faults INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE jobs ADD COLUMN faults INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE approvals ADD COLUMN faults INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX inbox_dead ON inbox (settled_ms) WHERE state = 'dead'",
    "CREATE INDEX outbox_given_up ON outbox (settled_ms) WHERE state IN ('unknown', 'expired', 'dead')",
    "CREATE INDEX jobs_dead ON jobs (settled_ms) WHERE state = 'dead'",
    # An intention that can't be begun becomes `dead`; SQLite changes a CHECK only with the whole table.
    """
    CREATE TABLE intentions_anew (
      id TEXT PRIMARY KEY,
      conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      slot TEXT NOT NULL,                        -- one waiting intention a slot; a new one takes its place
      due_ms INTEGER NOT NULL,
      every TEXT NOT NULL DEFAULT '',            -- crontab of a recurring one, empty for once
      process TEXT NOT NULL,
      params TEXT NOT NULL DEFAULT '{}',
      content TEXT NOT NULL DEFAULT '',
      behalf TEXT NOT NULL,                      -- platform id of whom it is done for; the gate is asked about them
      place TEXT NOT NULL,
      audience TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('waiting', 'due', 'cancelled', 'dead')),
      reason TEXT NOT NULL DEFAULT '',
      fired INTEGER NOT NULL DEFAULT 0,
      created_ms INTEGER NOT NULL,
      settled_ms INTEGER,
      faults INTEGER NOT NULL DEFAULT 0          -- failures to begin it that were not foreseen
    ) STRICT
    """,
    """
    INSERT INTO intentions_anew (id, conversation, soul, workspace, slot, due_ms, every, process, params, content,
                                 behalf, place, audience, state, reason, fired, created_ms, settled_ms)
    SELECT id, conversation, soul, workspace, slot, due_ms, every, process, params, content,
           behalf, place, audience, state, reason, fired, created_ms, settled_ms FROM intentions
    """,
    "DROP TABLE intentions",
    "ALTER TABLE intentions_anew RENAME TO intentions",
    "CREATE UNIQUE INDEX intentions_slots ON intentions (conversation, slot) WHERE state = 'waiting'",
    "CREATE INDEX intentions_by_conversation ON intentions (conversation)",
    "CREATE INDEX intentions_due ON intentions (soul, workspace, due_ms) WHERE state = 'waiting'",
    "CREATE INDEX intentions_dead ON intentions (settled_ms) WHERE state = 'dead'",
)


# How far catch-up has read, room by room.
CATCH_UP: tuple[str, ...] = (
    """
    CREATE TABLE unread_places (
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      channel TEXT NOT NULL,
      thread TEXT NOT NULL,                      -- ts of its first message; empty: the timeline of the channel
      state TEXT NOT NULL CHECK (state IN ('due', 'read')),
      since TEXT NOT NULL,                       -- messages from this ts on may be missing
      resume TEXT NOT NULL DEFAULT '',           -- where a place that is read in several steps goes on
      heard_ms INTEGER NOT NULL,                 -- when the last message there was written, as far as is known
      failures INTEGER NOT NULL DEFAULT 0,
      due_ms INTEGER NOT NULL,
      PRIMARY KEY (soul, workspace, channel, thread)
    ) STRICT
    """,
    "CREATE INDEX unread_places_due ON unread_places (soul, workspace, failures, heard_ms) WHERE state = 'due'",
    "CREATE INDEX conversations_by_age ON conversations (workspace, last_ms)",
    # The platform id of the account that heard a message: whatever soul it went to, that account answers it once.
    "ALTER TABLE inbox ADD COLUMN receiver TEXT NOT NULL DEFAULT ''",
    # Heard as a mention alone, which names no files: its twin completes the row.
    "ALTER TABLE inbox ADD COLUMN incomplete INTEGER NOT NULL DEFAULT 0 CHECK (incomplete IN (0, 1))",
    # When the conversation was told that messages in it are too old to be answered.
    "ALTER TABLE conversations ADD COLUMN away_told_ms INTEGER NOT NULL DEFAULT 0",
)


# Indexes for the hot queries, and what retention needs.
CHORES: tuple[str, ...] = (
    # Every hot query finds its rows by an index, however many other rows there are.
    "CREATE INDEX turns_by_message ON turns (conversation, ts)",
    "CREATE INDEX turns_readable ON turns (audience, seq) WHERE speaker = 'person'",
    "DROP INDEX inbox_by_message",  # it began with the workspace, and was taken where nothing but that was asked for
    "CREATE INDEX inbox_by_message ON inbox (ts, channel, workspace)",
    "CREATE INDEX inbox_due ON inbox (soul, workspace, received_ms) WHERE state IN ('new', 'claimed')",
    "CREATE INDEX inbox_by_state ON inbox (state, received_ms)",
    "CREATE INDEX outbox_by_state ON outbox (state, seq)",
    "CREATE INDEX jobs_by_state ON jobs (state, seq)",
    "CREATE INDEX intentions_by_state ON intentions (state, due_ms)",
    "CREATE INDEX intentions_counted ON intentions (soul, workspace) WHERE state = 'waiting' AND slot <> 'idle'",
    "CREATE INDEX intentions_with_text ON intentions (conversation) WHERE content <> ''",
    "CREATE INDEX approvals_by_state ON approvals (state, created_ms)",
    "CREATE INDEX conversations_by_channel ON conversations (soul, workspace, channel, last_ms)",
    "CREATE INDEX user_models_by_person ON user_models (person)",
    "CREATE INDEX user_models_by_time ON user_models (seen_ms)",
    "CREATE INDEX user_model_history_by_person ON user_model_history (person, made_ms)",
    # What has lost its text because it is old: it stays, so that nothing is taken in or sent a second time.
    "ALTER TABLE inbox ADD COLUMN cleared INTEGER NOT NULL DEFAULT 0 CHECK (cleared IN (0, 1))",
    "ALTER TABLE outbox ADD COLUMN cleared INTEGER NOT NULL DEFAULT 0 CHECK (cleared IN (0, 1))",
    # What grows old, by age.
    "CREATE INDEX inbox_whole ON inbox (received_ms) WHERE cleared = 0",
    "CREATE INDEX inbox_events_by_age ON inbox (received_ms) WHERE modality <> 'words'",
    "CREATE INDEX outbox_whole ON outbox (created_ms) WHERE cleared = 0",
    "CREATE INDEX jobs_by_age ON jobs (settled_ms) WHERE state = 'done'",
    "CREATE INDEX transitions_by_age ON transitions (at_ms)",
    "CREATE INDEX llm_calls_by_age ON llm_calls (started_ms)",
    """
    CREATE TABLE llm_days (                      -- model calls that are too old to be kept one by one
      day TEXT NOT NULL,                         -- of their start, UTC
      role TEXT NOT NULL,
      step TEXT NOT NULL,
      model TEXT NOT NULL,
      calls INTEGER NOT NULL,
      failed INTEGER NOT NULL,
      tokens_in INTEGER NOT NULL,
      tokens_cached INTEGER NOT NULL,
      tokens_out INTEGER NOT NULL,
      cost_usd REAL NOT NULL,
      unpriced INTEGER NOT NULL,                 -- calls whose price is not known
      PRIMARY KEY (day, role, step, model)
    ) STRICT
    """,
)


# Who waits, since when, and how often a message was begun anew. Triggers keep what a conversation says of its waiting
# messages, so that no statement that changes an inbox row can forget it.
def _what_waits(conversation: str) -> str:
    """Writes into a conversation what waits in it; `conversation` is an SQL term for its id."""
    waiting = f"FROM inbox WHERE conversation = {conversation} AND state IN ('new', 'claimed')"
    drafts = f"FROM outbox WHERE conversation = {conversation} AND state = 'drafting'"
    return f"""
    UPDATE conversations SET
      (waiting_ms, pause_ms, deadline_ms, crowded) = (
        SELECT min(since_ms), coalesce(max(not_before), 0), min(counted_ms), coalesce(max(crowded), 0) FROM (
          SELECT received_ms AS since_ms, not_before, crowded,
                 CASE WHEN source = 'backfill' THEN NULL
                      WHEN voided > 0 OR not_before < received_ms THEN received_ms ELSE not_before END AS counted_ms
          {waiting}
          UNION ALL SELECT created_ms, 0, 0, NULL {drafts}) w),
      waiting_person = coalesce(
        (SELECT author {waiting} ORDER BY received_ms, id LIMIT 1), (SELECT recipient {drafts} LIMIT 1), '')
    WHERE id = {conversation}
    """  # noqa: S608  # literals of this module


def _whenever(name: str, change: str, row: str, condition: str) -> str:
    return f"CREATE TRIGGER {name} AFTER {change} WHEN {condition} BEGIN {_what_waits(f'{row}.conversation')}; END"


_WAITS = "{}.state IN ('new', 'claimed')"
_DRAFT = "{}.state = 'drafting'"
_CHANGED = " OR ".join(
    f"OLD.{column} <> NEW.{column}" for column in ("not_before", "received_ms", "source", "voided", "crowded")
)

FAIRNESS: tuple[str, ...] = (
    # How often a cycle of the message was begun anew because its text changed; it came while too many waited already.
    "ALTER TABLE inbox ADD COLUMN voided INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE inbox ADD COLUMN crowded INTEGER NOT NULL DEFAULT 0 CHECK (crowded IN (0, 1))",
    # Since when the oldest message or draft waits (NULL: none), whose it is, and until when the newest pause lasts.
    "ALTER TABLE conversations ADD COLUMN waiting_ms INTEGER",
    "ALTER TABLE conversations ADD COLUMN waiting_person TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE conversations ADD COLUMN pause_ms INTEGER NOT NULL DEFAULT 0",
    # From when the deadline of a live message counts; NULL where only messages of a gap wait.
    "ALTER TABLE conversations ADD COLUMN deadline_ms INTEGER",
    "ALTER TABLE conversations ADD COLUMN crowded INTEGER NOT NULL DEFAULT 0 CHECK (crowded IN (0, 1))",
    # When it may be claimed.
    """
    ALTER TABLE conversations ADD COLUMN ready_ms INTEGER
      GENERATED ALWAYS AS (CASE WHEN lease_until > pause_ms THEN lease_until ELSE pause_ms END) VIRTUAL
    """,
    _whenever("inbox_waits_anew", "INSERT ON inbox", "NEW", _WAITS.format("NEW")),
    _whenever(
        "inbox_waits_otherwise",
        "UPDATE OF state, not_before, received_ms, source, voided, crowded ON inbox",
        "NEW",
        f"({_WAITS.format('OLD')}) <> ({_WAITS.format('NEW')}) OR ({_WAITS.format('NEW')} AND ({_CHANGED}))",
    ),
    _whenever("inbox_waits_no_more", "DELETE ON inbox", "OLD", _WAITS.format("OLD")),
    _whenever("drafts_wait_anew", "INSERT ON outbox", "NEW", _DRAFT.format("NEW")),
    _whenever(
        "drafts_wait_otherwise",
        "UPDATE OF state ON outbox",
        "NEW",
        f"({_DRAFT.format('OLD')}) <> ({_DRAFT.format('NEW')})",
    ),
    _whenever("drafts_wait_no_more", "DELETE ON outbox", "OLD", _DRAFT.format("OLD")),
    _what_waits("conversations.id"),
    *(
        f"CREATE INDEX {name} ON conversations (soul, workspace, {columns}) WHERE waiting_ms IS NOT NULL{more}"
        for name, columns, more in (
            ("conversations_waiting", "waiting_ms, waiting_person, ready_ms", ""),
            ("conversations_ready", "ready_ms", ""),
            ("conversations_waiting_of", "waiting_person, waiting_ms, ready_ms", ""),
            ("dms_waiting", "waiting_ms, waiting_person, ready_ms", " AND place = 'dm'"),
            ("dms_waiting_of", "waiting_person, waiting_ms, ready_ms", " AND place = 'dm'"),
            ("dms_ready", "ready_ms", " AND place = 'dm'"),
        )
    ),
    """
    CREATE INDEX conversations_deadlines ON conversations (soul, workspace, deadline_ms, ready_ms)
    WHERE deadline_ms IS NOT NULL
    """,
    "CREATE INDEX conversations_crowded ON conversations (soul, workspace, ready_ms) WHERE crowded = 1",
)


# Who reads in a room.
ROOMS: tuple[str, ...] = (
    # A user who isn't a full member of the workspace wrote in the conversation; it is never undone.
    "ALTER TABLE conversations ADD COLUMN outsider_spoke INTEGER NOT NULL DEFAULT 0 CHECK (outsider_spoke IN (0, 1))",
)


# How well each model keeps the form of a reply.
FORM: tuple[str, ...] = (
    # What a turn of the soul is: a reply, one that met the model's output limit, or an apology, which is not its words.
    "ALTER TABLE turns ADD COLUMN kind TEXT NOT NULL DEFAULT 'reply' CHECK (kind IN ('reply', 'cut', 'apology'))",
    """UPDATE turns SET kind = 'apology' WHERE speaker = 'soul' AND thought LIKE '%"apology": true%'""",
    """
    CREATE TABLE model_habits (
      model TEXT PRIMARY KEY,                    -- prefixed id
      recent TEXT NOT NULL,                      -- its last answers in elements: k kept the form, m is malformed
      split_until_ms INTEGER NOT NULL,           -- until then it speaks in the split pipeline
      split_for_ms INTEGER NOT NULL,             -- for how long, so that the next time can be longer
      hold_back INTEGER NOT NULL                 -- answers that must end without reasoning before its words stream
    ) STRICT
    """,
)


# What each tool said of itself when the admin allowed it.
TOOLS: tuple[str, ...] = (
    """
    CREATE TABLE tools (
      soul TEXT NOT NULL,                        -- of the daemon whose server offers it
      server TEXT NOT NULL,
      name TEXT NOT NULL,                        -- server/tool
      accepted TEXT NOT NULL,                    -- fingerprint at its first sight, or when the admin accepted it
      offered TEXT NOT NULL,                     -- fingerprint of what the server says now
      writes INTEGER NOT NULL CHECK (writes IN (0, 1)),
      changed_ms INTEGER,                        -- since when both differ; NULL while they are the same
      PRIMARY KEY (soul, name)
    ) STRICT
    """,
    "ALTER TABLE approvals ADD COLUMN fingerprint TEXT NOT NULL DEFAULT ''",
)


# What a post needs to end in something that the reader sees.
DELIVERY: tuple[str, ...] = (
    "ALTER TABLE outbox ADD COLUMN doubted_ms INTEGER",  # since when it may or may not have been sent
    "ALTER TABLE outbox ADD COLUMN draft_tries INTEGER NOT NULL DEFAULT 0",
    # A plain line of the daemon's own, about a post, a message or an intention that came to nothing.
    "ALTER TABLE outbox ADD COLUMN note INTEGER NOT NULL DEFAULT 0 CHECK (note IN (0, 1))",
)


# Every file of the library is read again, since what looks like a key is no longer indexed.
LIBRARY = ("UPDATE library_files SET stamp = ''",)


def upgrade() -> None:
    """Make the changes, area by area."""
    for statement in (*PARKING, *CATCH_UP, *CHORES, *FAIRNESS, *ROOMS, *FORM, *TOOLS, *DELIVERY, *LIBRARY):
        op.execute(statement)
