"""Triggers by which the vectors follow the rows of memory.db, a part of version 6."""


def queued(trigger: str, on: str, what: str) -> str:
    """A trigger that queues the ids that a SELECT gives, anew where they are queued already."""
    return f"""
    CREATE TRIGGER {trigger} AFTER {on}
    BEGIN
      DELETE FROM vector_queue WHERE id IN ({what});
      INSERT INTO vector_queue (id) {what};
    END
    """  # noqa: S608 - literals of this module


def triggers(table: str, row_id: str, columns: str) -> tuple[str, ...]:
    """The triggers that queue the rows of a table."""
    return tuple(
        queued(f"{table}_{name}_queued", f"{change} ON {table}", f"SELECT {row_id.format(row=row)}")
        for name, change, row in (
            ("added", "INSERT", "NEW"),
            ("changed", f"UPDATE OF {columns}", "NEW"),
            ("deleted", "DELETE", "OLD"),
        )
    )
