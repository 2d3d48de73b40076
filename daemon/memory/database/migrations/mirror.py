"""The tables of schema 6 that keep a mirror of memory in files current, and the triggers that say what changed.

An id is that of a turn or a record, or `S:` and a conversation for its summary. Nothing is queued before there is a
mirror; from then on everything is, so that no write goes past it, whoever makes it and whether a daemon runs or not.
"""

from typing import Final

_TURN: Final = "CASE {row}.speaker WHEN 'person' THEN 'TU_' ELSE 'TL_' END || {row}.seq"
_CHANGES: Final = (("added", "INSERT", ("NEW",)), ("changed", "UPDATE", ("NEW",)), ("deleted", "DELETE", ("OLD",)))

# Table, and the ids whose files show one of its rows.
_SHOWN: Final = (
    ("turns", (_TURN,)),
    ("records", ("{row}.id",)),
    ("episodes", ("{row}.id",)),
    ("facts", ("{row}.id",)),
    ("senses", ("{row}.id",)),
    ("journal", ("{row}.id",)),
    ("links", ("{row}.origin", "{row}.target")),
    ("working_memory", ("'S:' || {row}.conversation",)),
)


def queued(trigger: str, on: str, what: str, when: str = "") -> str:
    """A trigger that queues the ids that a SELECT gives, anew where they are queued already."""
    return f"""
    CREATE TRIGGER {trigger} AFTER {on} WHEN EXISTS (SELECT 1 FROM mirrors){when}
    BEGIN
      DELETE FROM mirror_queue WHERE id IN ({what});
      INSERT INTO mirror_queue (id) {what};
    END
    """  # noqa: S608 - literals of this module


def _ids(forms: tuple[str, ...], row: str) -> str:
    return " UNION ".join(f"SELECT {form.format(row=row)} AS id" for form in forms)


MIRROR: Final[tuple[str, ...]] = (
    """
    CREATE TABLE mirrors (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      folder TEXT NOT NULL,                      -- below SOUL_HOME
      trouble TEXT NOT NULL DEFAULT '',          -- what it waits for
      followed_ms INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    """
    CREATE TABLE mirrored_files (
      id TEXT PRIMARY KEY,
      path TEXT NOT NULL,                        -- below the folder; empty for what can't be written as a file
      digest TEXT NOT NULL                       -- SHA-256 of its bytes
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX mirrored_files_by_path ON mirrored_files (path)",
    "CREATE TABLE mirror_queue (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE) STRICT",
    *(
        queued(f"{table}_{name}_mirrored", f"{change} ON {table}", _ids(forms, row))
        for table, forms in _SHOWN
        for name, change, rows in _CHANGES
        for row in rows
    ),
    # A turn's file names the kind of its room.
    queued(
        "conversations_moved_mirrored",
        "UPDATE OF place ON conversations",
        f"""
        SELECT {_TURN.format(row="t")} AS id FROM turns t WHERE t.conversation = NEW.id
        UNION SELECT 'S:' || NEW.id
        """,  # noqa: S608 - literals of this module
        " AND OLD.place <> NEW.place",
    ),
)
