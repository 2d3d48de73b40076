"""Keeps a damaged full-text index from stopping anything: it is distrusted, emptied, and built anew from its words.

An index repeats what stands in the table of words beside it, so nothing is lost with it. Until it is whole again,
`distrusted_indexes` says up to which row it holds what it should: only those rows are changed in it.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.reader_codes import entries

_AT_ONCE: Final = 32  # rows that are indexed in one unit, which has to be short
_DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT)  # as FTS5 says that its own rows don't fit
_NOTHING: Final = -1  # the index is to be emptied first
_ALL: Final = 2**63 - 1


def is_damage(error: sqlite3.Error) -> bool:
    """Whether a statement on an index failed because of what the index holds."""
    return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _DAMAGE


def trusted_to(name: str) -> str:
    """In SQL, the last row that an index holds as it should: as `trusted_to` behind a RETURNING or SELECT."""
    return f"coalesce((SELECT rebuilt_to FROM distrusted_indexes WHERE name = '{name}'), {_ALL}) AS trusted_to"  # noqa: S608 - a literal


async def distrust(transaction: Transaction, name: str) -> None:
    """Note that an index is damaged."""
    await transaction.insert(
        "distrusted_indexes",
        "ON CONFLICT (name) DO UPDATE SET rebuilt_to = excluded.rebuilt_to",
        name=name,
        rebuilt_to=_NOTHING,
    )


async def carefully(transaction: Transaction, name: str, change: Callable[[], Awaitable[None]]) -> bool:
    """Change an index; where that fails for its damage, undo it, distrust the index and return False."""
    await transaction.run("SAVEPOINT indexing")
    try:
        await change()
        await transaction.run("SAVEPOINT written")  # has FTS5 write now what it would write at a later statement
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        await transaction.run("ROLLBACK TO indexing")
        await distrust(transaction, name)
        sound = False
    else:
        sound = True
    await transaction.run("RELEASE indexing")
    return sound


async def rebuild(transaction: Transaction, name: str) -> int | None:
    """One short unit of building a distrusted index anew: how many rows it took in; None once it is whole."""
    row = await transaction.one(f"SELECT {trusted_to(name)}")
    assert row is not None
    done = row["trusted_to"]
    if done == _ALL:
        return None
    if done == _NOTHING:
        await transaction.run(f"INSERT INTO {name}_index ({name}_index) VALUES ('delete-all')")  # noqa: S608 - a literal
        await _note(transaction, name, 0)
        return 0
    rows = await transaction.rows(
        f"SELECT seq, readers, words FROM {name}_words WHERE seq > :done ORDER BY seq LIMIT {_AT_ONCE}",  # noqa: S608 - a literal
        done=done,
    )
    for row in rows:
        await transaction.insert(f"{name}_index", rowid=row["seq"], entries=entries(row["readers"], row["words"]))
    if not rows:
        await transaction.run("DELETE FROM distrusted_indexes WHERE name = :name", name=name)
        return None
    await _note(transaction, name, rows[-1]["seq"])
    return len(rows)


async def _note(transaction: Transaction, name: str, seq: int) -> None:
    await transaction.run("UPDATE distrusted_indexes SET rebuilt_to = :seq WHERE name = :name", name=name, seq=seq)
