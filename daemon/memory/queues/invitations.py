"""Whom a soul may write to unasked in their direct messages, since they invited it to, and how often it did."""

from dataclasses import dataclass
from typing import Final

from daemon.core.initiative import MOST_UNASKED
from daemon.core.perception import Place
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.queues.memory_acts import Asker

_DAY_MS: Final = 86_400_000


async def is_invited(transaction: Transaction, soul: str, workspace: str, person: str) -> bool:
    """Whether a person wants to hear from the soul unasked."""
    row = await transaction.one(
        "SELECT 1 FROM invitations WHERE soul = :soul AND workspace = :workspace AND person = :person AND invited = 1",
        soul=soul,
        workspace=workspace,
        person=person,
    )
    return row is not None


async def may_speak(transaction: Transaction, room: sqlite3.Row, person: str, now: int) -> bool:
    """Whether something may be said unasked in a conversation now; `room` is its row.

    It is a direct message of a person who wants it, who was written to less than `MOST_UNASKED` times within a day, and
    who has answered the last time.
    """
    if room["place"] != Place.DM or not await is_invited(transaction, room["soul"], room["workspace"], person):
        return False
    row = await transaction.one(
        """
        SELECT count(*) FILTER (WHERE at_ms > :now - :day) AS n, max(at_ms) AS last_ms FROM initiatives
        WHERE soul = :soul AND workspace = :workspace AND person = :person
        """,
        now=now,
        day=_DAY_MS,
        soul=room["soul"],
        workspace=room["workspace"],
        person=person,
    )
    if row is None or row["n"] >= MOST_UNASKED:
        return False
    heard = await transaction.one(
        "SELECT max(said_ms) AS at_ms FROM turns WHERE conversation = :id AND author = :person",
        id=room["id"],
        person=person,
    )
    return row["last_ms"] is None or (heard is not None and (heard["at_ms"] or 0) > row["last_ms"])


@dataclass(frozen=True, slots=True)
class Invited:
    """The person wants to hear from the soul unasked, or no more."""

    invited: bool

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`."""
        await transaction.insert(
            "invitations",
            """
            ON CONFLICT (soul, workspace, person) DO UPDATE SET invited = excluded.invited, at_ms = excluded.at_ms
            """,
            **asker.scope,
            person=asker.person,
            invited=int(self.invited),
            at_ms=now,
        )


@dataclass(frozen=True, slots=True)
class SpokeUnasked:
    """Unasked words are posted to the person with the same commit."""

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`."""
        await transaction.insert(
            "initiatives", **asker.scope, conversation=str(asker.conversation), person=asker.person, at_ms=now
        )
