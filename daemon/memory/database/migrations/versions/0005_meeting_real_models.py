"""What the soul needs to meet real models: wishes with their reasons, a search over turns, traces of inner life."""

from alembic import op

revision = "0005"
down_revision = "0004"

# What the words called for, as the model itself said.
WISHES: tuple[str, ...] = ()

# One full-text index of turns, with the audience that a search matches.
LOOKING_UP: tuple[str, ...] = ()

# Thoughts, topic and task of a conversation, a standing question, the zone of a person.
INNER_LIFE: tuple[str, ...] = ()

# The code of a conversation's data elements, kept for a day.
PROMPTS: tuple[str, ...] = ()

# Which vendor answered, and what each model is known to do.
MODELS: tuple[str, ...] = ()

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
