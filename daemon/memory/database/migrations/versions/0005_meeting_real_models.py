"""What the soul needs to meet real models: wishes with their reasons, a search over turns, traces of inner life."""

from alembic import op
from sqlalchemy import Connection, text

from daemon.core.perception import ConversationKey
from daemon.core.words import words_of
from daemon.memory.reader_codes import codes_of_turn, entries

revision = "0005"
down_revision = "0004"

# What the words called for, as the model itself said.
WISHES: tuple[str, ...] = ()

# Full-text indexes of turns and passages in one form: each word behind the code of who may find it (12 characters, so
# that 15 to 17 are the kept beginnings of words), and what was indexed beside it. The library's files are read anew.
_INDEXED = """
    CREATE TABLE {name}_words (
      seq INTEGER PRIMARY KEY,                   -- of the row that is found
      readers TEXT NOT NULL,                     -- codes of who may find it
      words TEXT NOT NULL                        -- in the form in which they are compared, each once
    ) STRICT
    """
_INDEX = """
    CREATE VIRTUAL TABLE {name}_index USING fts5
      (entries, content = '', columnsize = 0, detail = none, tokenize = 'ascii', prefix = '15 16 17')
    """
LOOKING_UP: tuple[str, ...] = (
    _INDEXED.format(name="turn"),
    _INDEX.format(name="turn"),
    """
    CREATE TABLE erased_words (
      name TEXT PRIMARY KEY,                     -- of an index that lost rows, whose words are still in its pages
      rows_gone INTEGER NOT NULL
    ) STRICT
    """,
    "DROP INDEX turns_readable",
    "DROP TABLE library_index",
    "DELETE FROM library_files",
    _INDEXED.format(name="library"),
    _INDEX.format(name="library"),
)

_AT_ONCE = 2_000
_TURNS = """
    SELECT seq, conversation, audience, substr(body, 1, 4000) AS body FROM turns
    WHERE seq > :last AND kind <> 'apology' ORDER BY seq LIMIT :most
"""

# Thoughts, topic and task of a conversation, a standing question, the zone of a person.
INNER_LIFE: tuple[str, ...] = (
    # The mood stays with the audience; topic and task are a conversation's own.
    "ALTER TABLE soul_state DROP COLUMN topic",
    "ALTER TABLE soul_state DROP COLUMN task",
    """
    CREATE TABLE conversation_topics (
      conversation TEXT PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE,
      audience TEXT NOT NULL,                    -- told to nobody else
      version INTEGER NOT NULL,
      topic TEXT NOT NULL DEFAULT '',
      task TEXT NOT NULL DEFAULT '',
      updated_ms INTEGER NOT NULL
    ) STRICT
    """,
    # What the soul wonders about, from visit to visit: one question for all conversations of a room.
    """
    CREATE TABLE standing_questions (
      soul TEXT NOT NULL,
      workspace TEXT NOT NULL,
      channel TEXT NOT NULL,
      audience TEXT NOT NULL,                    -- told to nobody else
      question TEXT NOT NULL,
      since_ms INTEGER NOT NULL,
      PRIMARY KEY (soul, workspace, channel)
    ) STRICT
    """,
    # Where each person's clock stands, as the platform says; an empty zone is unknown.
    """
    CREATE TABLE person_zones (
      workspace TEXT NOT NULL,
      person TEXT NOT NULL,
      zone TEXT NOT NULL,
      updated_ms INTEGER NOT NULL,
      PRIMARY KEY (workspace, person)
    ) STRICT
    """,
)

# The code of a conversation's data elements, kept for a day.
PROMPTS: tuple[str, ...] = (
    "ALTER TABLE conversations ADD COLUMN nonce TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE conversations ADD COLUMN nonce_ms INTEGER NOT NULL DEFAULT 0",
)

# Which vendor answered, and what each model is known to do.
MODELS: tuple[str, ...] = (
    "ALTER TABLE turns ADD COLUMN model TEXT NOT NULL DEFAULT ''",  # the id of the model that said it
    "CREATE INDEX turns_by_trace ON turns (trace_id) WHERE speaker = 'soul'",
    "ALTER TABLE llm_calls ADD COLUMN cost_bound INTEGER NOT NULL DEFAULT 0",  # 1: cost_usd is the most it can be
)

# What the platform told one daemon of a room or a user, for the other daemons on this file.
ROOM_NEWS: tuple[str, ...] = (
    """
    CREATE TABLE room_news (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,     -- never used again, since daemons remember how far they have read
      teller TEXT NOT NULL,                      -- code of the daemon's run, which knows its own news
      workspace TEXT NOT NULL,
      subject TEXT NOT NULL,                     -- id of a channel or a user
      at_ms INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX room_news_at ON room_news (at_ms)",
)

# Where in a document a passage stands, and why a file of the library is not read.
DOCUMENTS = (
    "ALTER TABLE library_passages ADD COLUMN place TEXT NOT NULL DEFAULT ''",  # 'page 12'; '' where its line says it
    "ALTER TABLE library_files ADD COLUMN fault TEXT NOT NULL DEFAULT ''",  # '' for a file that is read to its end
)


def upgrade() -> None:
    """Make the changes, area by area."""
    for statement in (*WISHES, *LOOKING_UP, *INNER_LIFE, *PROMPTS, *MODELS, *ROOM_NEWS, *DOCUMENTS):
        op.execute(statement)
    index_turns(op.get_bind())


def index_turns(connection: Connection) -> None:
    """Index the turns that are there, as later ones are when they are stored; a few seconds for 100,000 of them."""
    last = -1
    while rows := connection.execute(text(_TURNS), {"last": last, "most": _AT_ONCE}).all():
        kept = [
            {
                "seq": row.seq,
                "readers": " ".join(codes_of_turn(ConversationKey.parse(row.conversation), row.audience)),
                "words": " ".join(dict.fromkeys(words_of(row.body))),
            }
            for row in rows
        ]
        connection.execute(text("INSERT INTO turn_words (seq, readers, words) VALUES (:seq, :readers, :words)"), kept)
        connection.execute(
            text("INSERT INTO turn_index (rowid, entries) VALUES (:seq, :entries)"),
            [{"seq": one["seq"], "entries": entries(one["readers"], one["words"])} for one in kept],
        )
        last = rows[-1].seq
