"""Who is next: the conversation of the user with the fewest under way, and of those the one that waited longest.

A conversation counts as under way while a claim on it is held. Triggers keep `waiting_ms`, `waiting_person` and
`ready_ms` (see migration 0004), so that none of these statements reads the messages, and each finds its rows by an
index over what waits alone.
"""

from daemon.core.ports.arrivals import NewMessage, Source
from daemon.memory.database import Transaction

_WINDOW = 256  # rows and users looked at for one choice, so that a flood makes no claim slow
_FOREVER = 2**62
_SCOPE = "soul = :soul AND workspace = :workspace AND waiting_ms IS NOT NULL"
_READY = f"{_SCOPE} AND +ready_ms <= :now"  # the + keeps the order of waiting by its index
_HELD = """
  SELECT waiting_person, count(*) AS held FROM conversations
  WHERE lease_owner <> '' AND lease_until > :now AND soul = :soul AND workspace = :workspace GROUP BY waiting_person
"""
_IDLE = f"waiting_person NOT IN (SELECT waiting_person FROM ({_HELD}) h)"  # noqa: S608  # nothing under way; literals
_OF_THE_OLDEST = """
  SELECT id FROM conversations
  WHERE {ready} AND {idle} AND waiting_ms <= coalesce((
    SELECT waiting_ms FROM conversations WHERE {scope} ORDER BY waiting_ms LIMIT 1 OFFSET :window), :forever)
  ORDER BY waiting_ms LIMIT 1
"""
_OF_ANOTHER_USER = """
  WITH RECURSIVE people (waiting_person, number) AS (
    SELECT min(waiting_person), 1 FROM conversations WHERE {scope}
    UNION ALL
    SELECT (SELECT min(waiting_person) FROM conversations WHERE {scope} AND waiting_person > p.waiting_person),
           p.number + 1
    FROM people p WHERE p.waiting_person IS NOT NULL AND p.number < :window)
  SELECT c.id FROM people JOIN conversations c ON c.id = (
    SELECT id FROM conversations
    WHERE {ready} AND waiting_person = people.waiting_person ORDER BY waiting_ms LIMIT 1)
  WHERE people.{idle} ORDER BY c.waiting_ms LIMIT 1
"""
_OF_THE_LEAST_BUSY = """
  SELECT c.id FROM ({held}) h JOIN conversations c ON c.id = (
    SELECT id FROM conversations WHERE {ready} AND waiting_person = h.waiting_person ORDER BY waiting_ms LIMIT 1)
  ORDER BY h.held, c.waiting_ms LIMIT 1
"""


async def next_conversation(
    transaction: Transaction, scope: dict[str, str], now: int, *, dms_only: bool = False
) -> str | None:
    """The id of the conversation to claim next, None when none is ready; `dms_only` looks at DMs alone."""
    dm = " AND place = 'dm'" if dms_only else ""
    for choice in (_OF_THE_OLDEST, _OF_ANOTHER_USER, _OF_THE_LEAST_BUSY):
        sql = choice.format(scope=_SCOPE + dm, ready=_READY + dm, idle=_IDLE, held=_HELD)
        row = await transaction.one(sql, now=now, window=_WINDOW, forever=_FOREVER, **scope)
        if row is not None:
            return str(row["id"])
    return None


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
