"""Claims on conversations: their fences, the choice of the next one, and leases that a wrong clock wrote."""

from typing import Final

from daemon.core.errors import LostLease
from daemon.core.perception import Audience, ConversationKey, Place
from daemon.core.ports.arrivals import NewMessage, Source
from daemon.memory.database import Transaction
from daemon.memory.records import Claim


class ReadersChanged(LostLease):
    """A change of the readers during a cycle. Nothing was written, and a new cycle is due."""


async def require_claim(transaction: Transaction, claim: Claim) -> None:
    """Check that the claim is still held.

    Raises LostLease when it was committed, released or taken over. Raises ReadersChanged when the conversation's
    audience became narrower, as when its channel was made private. Where the audience became wider, the claim's
    narrower one is kept.
    """
    audience = await require_fence(transaction, claim)
    if not claim.audience.within(audience):
        raise ReadersChanged(
            f"{claim.conversation} is for {audience.kind} by now, no longer for {claim.audience.kind}",
            hint="nothing to do: the reply is begun anew",
        )


async def require_fence(transaction: Transaction, claim: Claim) -> Audience:
    """Return the audience of a conversation that is still claimed. Raises LostLease."""
    row = await transaction.one(
        "SELECT fence, lease_owner, audience FROM conversations WHERE id = :id", id=str(claim.conversation)
    )
    if row is None or (row["fence"], row["lease_owner"]) != (claim.fence, claim.owner):
        raise LostLease(
            f"this daemon no longer holds {claim.conversation}",
            hint="nothing to do: its reply is finished, or another daemon works on it",
        )
    return Audience.parse(row["audience"])


_KNOWN: Final = "ON CONFLICT (id) DO NOTHING"
_HEARD: Final = """
    ON CONFLICT (id) DO UPDATE SET last_ms = excluded.last_ms, place = excluded.place, audience = excluded.audience
    """


async def open_conversation(
    transaction: Transaction, key: ConversationKey, place: Place, audience: Audience, now: int, *, heard: bool = False
) -> None:
    """Create the conversation's row if it is missing. With `heard`, an existing row gets the new values."""
    await transaction.insert(
        "conversations",
        _HEARD if heard else _KNOWN,
        id=str(key),
        soul=key.soul,
        workspace=key.workspace,
        channel=key.channel,
        thread=key.thread,
        place=place,
        audience=str(audience),
        last_ms=now,
    )


_WINDOW = 256  # rows and users looked at for one choice: a flood makes no claim slow
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
    """Return the id of the conversation to claim next, or None if none is ready.

    Users without a claimed conversation come first, then the user with the fewest. `dms_only` looks at DMs alone.
    """
    dm = " AND place = 'dm'" if dms_only else ""
    for choice in (_OF_THE_OLDEST, _OF_ANOTHER_USER, _OF_THE_LEAST_BUSY):
        sql = choice.format(scope=_SCOPE + dm, ready=_READY + dm, idle=_IDLE, held=_HELD)
        row = await transaction.one(sql, now=now, window=_WINDOW, forever=_FOREVER, **scope)
        if row is not None:
            return str(row["id"])
    return None


async def next_overdue(transaction: Transaction, scope: dict[str, str], now: int, late_ms: int) -> str | None:
    """Return the id of a ready conversation that is crowded, or whose live message waits since before `late_ms`."""
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
    """Mark a live message as crowded if its author has more than `most` conversations waiting."""
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


SLACK_MS: Final = 60_000
"""The most by which the clocks of daemons may differ."""

_LONGEST_WAIT_MS: Final = 86_400_000  # of a job

_HELD_LEASE: Final = {
    "conversations": "lease_owner <> ''",
    "outbox": "state IN ('pending', 'sending')",
    "jobs": "state IN ('ready', 'running')",
    "consolidation_slots": "lease_owner <> ''",
}

_WAITS_TOO_LONG: Final = "jobs WHERE state IN ('ready', 'running') AND not_before > :last + :longest"


def holds(until_ms: int, now_ms: int, lease_ms: int) -> bool:
    """Return whether a lease of at most `lease_ms` that ends at `until_ms` still counts."""
    return now_ms < until_ms <= now_ms + lease_ms + SLACK_MS


def is_recent(seen_ms: int, now_ms: int, silence_ms: int) -> bool:
    """Return whether a sign of life is at most `silence_ms` old, and not from the future."""
    return now_ms - silence_ms < seen_ms <= now_ms + SLACK_MS


async def any_too_long(transaction: Transaction, last_ms: int) -> bool:
    """Return whether a lease ends after `last_ms`, or a job waits for more than a day after it."""
    looks = [f"SELECT 1 FROM {table} WHERE {held} AND lease_until > :last" for table, held in _HELD_LEASE.items()]  # noqa: S608 - constants
    looks.append(f"SELECT 1 FROM {_WAITS_TOO_LONG}")  # noqa: S608 - a constant
    values = {"last": last_ms, "longest": _LONGEST_WAIT_MS}
    return await transaction.one(f"{' UNION ALL '.join(looks)} LIMIT 1", **values) is not None


async def shorten(transaction: Transaction, last_ms: int) -> None:
    """End leases at `last_ms` that would end later: a wrong clock wrote them.

    A living holder renews its lease in time. Jobs that would wait for more than a day after `last_ms` become due then.
    """
    await transaction.run(
        f"UPDATE jobs SET not_before = :last WHERE seq IN (SELECT seq FROM {_WAITS_TOO_LONG})",  # noqa: S608 - a constant
        last=last_ms,
        longest=_LONGEST_WAIT_MS,
    )
    for table, held in _HELD_LEASE.items():
        await transaction.run(
            f"UPDATE {table} SET lease_until = :last WHERE {held} AND lease_until > :last",  # noqa: S608 - constants
            last=last_ms,
        )
