"""What schema 7 adds for what passports hold beside memories: their unknown fields, plans that ended, the mirror."""

from typing import Final

from daemon.memory.database.migrations.mirror import queued

# Table, its mark in the ids of the mirror, and the columns with which unknown fields of its file go.
_BESIDE: Final = (
    ("intentions", "I:", "content"),
    ("user_models", "U:", "whispers"),
    ("user_model_history", "V:", "whispers, notes"),
    ("soul_state", "M:", "emotional_state"),
    ("conversation_topics", "T:", "topic, task"),
    ("standing_questions", "Q:", "question"),
)
_CUE: Final = "SELECT 'I:' || rowid AS id FROM intentions WHERE id = {row}.intention"
_PICTURE: Final = "SELECT 'B:' || {row}.raw_data_ref AS id WHERE {row}.raw_data_ref <> ''"
_CHANGES: Final = (("added", "INSERT", "NEW"), ("changed", "UPDATE", "NEW"), ("deleted", "DELETE", "OLD"))


def _mirrored(name: str, table: str, ids: str) -> list[str]:
    return [
        queued(f"{name}_{how}_mirrored", f"{change} ON {table}", ids.format(row=row)) for how, change, row in _CHANGES
    ]


BESIDE: Final[tuple[str, ...]] = (
    # Fields that a passport brought and that are unknown here, by mark and row number; other words have none of them.
    """
    CREATE TABLE passport_extras (
      id TEXT PRIMARY KEY,
      extra TEXT NOT NULL                        -- JSON
    ) STRICT, WITHOUT ROWID
    """,
    *(
        f"""
        CREATE TRIGGER {table}_{how}_extras AFTER {what} ON {table}
        BEGIN
          DELETE FROM passport_extras WHERE id = '{mark}' || OLD.rowid;
        END
        """  # noqa: S608 - literals of this module
        for table, mark, columns in _BESIDE
        for how, what in (("reworded", f"UPDATE OF {columns}"), ("deleted", "DELETE"))
    ),
    # Plans whose rows are gone: a passport from before doesn't bring them back, or they would come up twice.
    "CREATE TABLE ended_intentions (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID",
    """
    CREATE TRIGGER intentions_end AFTER DELETE ON intentions WHEN OLD.slot <> 'idle'
    BEGIN
      INSERT INTO ended_intentions (id) VALUES (OLD.id) ON CONFLICT DO NOTHING;
    END
    """,
    *(
        statement
        for table, mark, _ in _BESIDE
        for statement in _mirrored(
            table,
            table,
            f"SELECT '{mark}' || {{row}}.rowid AS id"
            + (" WHERE {row}.slot <> 'idle'" if table == "intentions" else ""),
        )
    ),
    *_mirrored("cues", "cues", _CUE),
    *_mirrored("pictures", "senses", _PICTURE),
    queued(
        "pictures_left_mirrored",
        "UPDATE OF raw_data_ref ON senses",
        _PICTURE.format(row="OLD"),
        " AND OLD.raw_data_ref <> NEW.raw_data_ref",
    ),
    queued(
        "topics_moved_mirrored",
        "UPDATE OF place ON conversations",
        "SELECT 'T:' || rowid AS id FROM conversation_topics WHERE conversation = NEW.id",
        " AND OLD.place <> NEW.place",
    ),
)
