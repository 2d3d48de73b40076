"""Who is next: the conversation of the user with the fewest under way, and of those the one that waited longest.

A conversation counts as under way while a claim on it is held. Triggers keep `waiting_ms`, `waiting_person` and
`ready_ms` (see migration 0004), so that none of these statements reads the messages, and each finds its rows by an
index over what waits alone.
"""

from daemon.core.ports import NewMessage, Source
from daemon.memory.database import Transaction

_HELD = """
  SELECT waiting_person, count(*) AS held FROM conversations
  WHERE lease_owner <> '' AND lease_until > :now AND soul = :soul AND workspace = :workspace GROUP BY waiting_person
"""
# The + keeps the order of waiting by its index.
_READY = "soul = :soul AND workspace = :workspace AND waiting_ms IS NOT NULL AND +ready_ms <= :now"
_ANYWHERE, _IN_DMS = "", "AND place = 'dm'"


async def next_conversation(
    transaction: Transaction, scope: dict[str, str], now: int, *, dms_only: bool = False
) -> str | None:
    """The id of the conversation to claim next, None when none is ready; `dms_only` looks at DMs alone."""
    where = _IN_DMS if dms_only else _ANYWHERE
    row = await transaction.one(
        f"""
        SELECT id FROM conversations
        WHERE {_READY} {where} AND waiting_person NOT IN (SELECT waiting_person FROM ({_HELD}) h)
        ORDER BY waiting_ms LIMIT 1
        """,  # noqa: S608  # literals of this module
        now=now,
        **scope,
    )
    if row is None:  # whoever waits has something under way already
        row = await transaction.one(
            f"""
            SELECT c.id FROM ({_HELD}) h JOIN conversations c ON c.id = (
              SELECT id FROM conversations
              WHERE {_READY} {where} AND waiting_person = h.waiting_person ORDER BY waiting_ms LIMIT 1)
            ORDER BY h.held, c.waiting_ms LIMIT 1
            """,  # noqa: S608  # literals of this module
            now=now,
            **scope,
        )
    return row["id"] if row else None


async def next_overdue(transaction: Transaction, scope: dict[str, str], now: int, late_ms: int) -> str | None:
    """The id of a ready conversation that is crowded, or in which a live message waits since before `late_ms`."""
    row = await transaction.one(
        """
        SELECT id FROM conversations
        WHERE soul = :soul AND workspace = :workspace AND crowded = 1 AND ready_ms <= :now LIMIT 1
        """,
        now=now,
        **scope,
    )
    if row is None:
        row = await transaction.one(
            """
            SELECT id FROM conversations
            WHERE soul = :soul AND workspace = :workspace AND deadline_ms <= :late AND +ready_ms <= :now
            ORDER BY deadline_ms LIMIT 1
            """,
            now=now,
            late=late_ms,
            **scope,
        )
    return row["id"] if row else None


async def note_crowd(transaction: Transaction, message: NewMessage, most: int) -> None:
    """Mark a live message that opens one conversation more than may wait for its author; a gap's messages all wait."""
    if message.source is not Source.LIVE:
        return
    key = message.perception.conversation
    await transaction.run(
        """
        UPDATE inbox SET crowded = 1 WHERE id = :id
          AND NOT EXISTS (SELECT 1 FROM inbox e WHERE e.conversation = inbox.conversation AND e.id <> inbox.id
                          AND e.state IN ('new', 'claimed'))
          AND (SELECT count(*) FROM (
                 SELECT 1 FROM conversations
                 WHERE soul = :soul AND workspace = :workspace AND waiting_person = :person AND waiting_ms IS NOT NULL
                 LIMIT :most) w) >= :most
        """,
        id=message.perception.id,
        soul=key.soul,
        workspace=key.workspace,
        person=message.perception.author,
        most=most + 1,
    )
