"""Whose work a line of the log is about: the ids of people by name, and the traces of what they asked."""

from dataclasses import dataclass

from daemon.memory.database import Database, Transaction


@dataclass(frozen=True, slots=True)
class WorkForPerson:
    """The conversations in which a person spoke, and the traces of their turns."""

    conversations: frozenset[str]
    traces: frozenset[str]


async def people_named(database: Database, name: str) -> tuple[str, ...]:
    """The ids of those who have a name or an id, in small letters or capitals."""

    async def unit(transaction: Transaction) -> tuple[str, ...]:
        rows = await transaction.rows(
            """
            SELECT DISTINCT person FROM user_models WHERE name = :name COLLATE NOCASE OR person = :name COLLATE NOCASE
            UNION SELECT DISTINCT author FROM inbox WHERE author = :capitals
            """,
            name=name,
            capitals=name.upper(),
        )
        return tuple(sorted(str(row[0]) for row in rows))

    return await database.read(unit)


async def work_for(database: Database, person: str, since_ms: int) -> WorkForPerson:
    """What a person set going since a time."""

    async def unit(transaction: Transaction) -> WorkForPerson:
        turns = await transaction.rows(
            "SELECT conversation, trace_id FROM turns WHERE author = :person AND said_ms >= :since",
            person=person,
            since=since_ms,
        )
        heard = await transaction.rows(
            "SELECT DISTINCT conversation FROM inbox WHERE author = :person AND received_ms >= :since",
            person=person,
            since=since_ms,
        )
        return WorkForPerson(
            frozenset(str(row[0]) for row in (*turns, *heard)), frozenset(str(row[1]) for row in turns if row[1])
        )

    return await database.read(unit)
