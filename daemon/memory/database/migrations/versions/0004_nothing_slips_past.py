"""What keeps work moving in bad times: parked rows, catch-up's place, indexes for every hot query, fairness, rooms."""

from alembic import op

revision = "0004"
down_revision = "0003"

# Rows that fail in an unexpected way are counted, and parked.
PARKING: tuple[str, ...] = ()


# How far catch-up has read, room by room.
CATCH_UP: tuple[str, ...] = ()


# Indexes for the hot queries, and what retention needs.
CHORES: tuple[str, ...] = ()


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
ROOMS: tuple[str, ...] = ()


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
DELIVERY: tuple[str, ...] = ()


# Every file of the library is read again, since what looks like a key is no longer indexed.
LIBRARY = ("UPDATE library_files SET stamp = ''",)


def upgrade() -> None:
    """Make the changes, area by area."""
    for statement in (*PARKING, *CATCH_UP, *CHORES, *FAIRNESS, *ROOMS, *FORM, *TOOLS, *DELIVERY, *LIBRARY):
        op.execute(statement)
