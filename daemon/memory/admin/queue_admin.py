"""What the person who runs the daemon may see and change by hand: messages and posts by state, each change on record.

Changes are made in the daemon's own terms, so that a running one finds them at its next look: a message becomes `new`,
a post `pending`, or `sending` with a lapsed lease where it has to be looked up first.
"""

import json
import sqlite3
from dataclasses import dataclass
from enum import StrEnum

from daemon.core.errors import StoreError
from daemon.core.ports import Clock
from daemon.memory.database import Database, Transaction

INBOX_STATES = ("new", "claimed", "answered", "ignored", "withdrawn", "stale", "dead", "dropped")
OUTBOX_STATES = ("drafting", "pending", "sending", "sent", "unknown", "expired", "dead", "dropped")
_INBOX_RETRIED = frozenset({"dead", "ignored", "stale", "dropped"})
_INBOX_DROPPED = frozenset({"new", "claimed", "dead", "ignored", "stale"})
_OUTBOX_RETRIED = frozenset({"unknown", "dead", "expired", "dropped"})
_OUTBOX_DROPPED = frozenset({"pending", "unknown", "dead", "expired"})


@dataclass(frozen=True, slots=True)
class Arrived:
    """One message of the inbox; times in milliseconds UTC. `body` is what the person said."""

    id: str
    state: str
    reason: str
    author: str
    name: str
    place: str
    audience: str
    conversation: str
    source: str
    attempts: int
    revision: int
    received_ms: int
    settled_ms: int | None
    answered_by: str | None
    body: str


@dataclass(frozen=True, slots=True)
class Leaving:
    """One post of the outbox; `id` is its key, `platform_ts` the platform's id of the message or its draft."""

    seq: int
    id: str
    state: str
    reason: str
    conversation: str
    part: int
    last: bool
    recipient: str
    reply_to: str
    audience: str
    platform_ts: str | None
    attempts: int
    created_ms: int
    settled_ms: int | None
    body: str


class Retried(StrEnum):
    """What a retry of a post set in motion."""

    SENT_AGAIN = "sent again"
    LOOKED_UP_FIRST = "looked up first"


class Admin:
    """Lists, shows and changes rows for the admin `actor`, a name of the operating system."""

    def __init__(self, database: Database, clock: Clock, actor: str) -> None:
        self._database = database
        self._clock = clock
        self._actor = actor

    async def messages(self, state: str | None, limit: int) -> tuple[Arrived, ...]:
        """The newest messages, of one state or of all."""

        async def unit(transaction: Transaction) -> tuple[Arrived, ...]:
            rows = await transaction.rows(
                "SELECT * FROM inbox WHERE :state IS NULL OR state = :state ORDER BY received_ms DESC LIMIT :limit",
                state=state,
                limit=limit,
            )
            return tuple(_arrived(row) for row in rows)

        return await self._database.read(unit)

    async def message(self, name: str) -> Arrived:
        """One message by its id or its ts. Raises StoreError when there is none or more than one."""
        return await self._database.read(lambda transaction: _find_message(transaction, name))

    async def retry_message(self, name: str, *, force: bool = False) -> Arrived:
        """Have a message answered that was not; returns it as it was before.

        Raises StoreError for one that waits already, was withdrawn, or (without `force`) was answered.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> Arrived:
            found = await _find_message(transaction, name)
            if found.state == "answered" and not force:
                raise StoreError(f"{found.id} was answered", hint="--force has it answered a second time")
            if found.state not in _INBOX_RETRIED | {"answered"}:
                raise StoreError(f"{found.id} is {found.state}; nothing to retry", hint=_why_not(found.state))
            # Counts as live and fresh from now on: an old one would only be set aside as stale again.
            await transaction.run(
                """
                UPDATE inbox SET state = 'new', aside = 0, reason = '', attempts = 0, not_before = 0, settled_ms = NULL,
                       answered_by = NULL, source = 'live', received_ms = :now WHERE id = :id
                """,
                now=now,
                id=found.id,
            )
            await self._record(transaction, "inbox.retry", found.id, _before(found, source=found.source))
            return found

        return await self._database.write(unit)

    async def drop_message(self, name: str) -> Arrived:
        """Leave a message without an answer for good; returns it as it was. Raises StoreError when it is settled."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> Arrived:
            found = await _find_message(transaction, name)
            if found.state not in _INBOX_DROPPED:
                raise StoreError(f"{found.id} is {found.state} already", hint="nothing to do")
            await transaction.run(
                "UPDATE inbox SET state = 'dropped', reason = :reason, settled_ms = :now WHERE id = :id",
                reason=f"dropped by {self._actor}",
                now=now,
                id=found.id,
            )
            await self._record(transaction, "inbox.drop", found.id, _before(found))
            return found

        return await self._database.write(unit)

    async def posts(self, state: str | None, limit: int) -> tuple[Leaving, ...]:
        """The newest posts, of one state or of all."""

        async def unit(transaction: Transaction) -> tuple[Leaving, ...]:
            rows = await transaction.rows(
                "SELECT * FROM outbox WHERE :state IS NULL OR state = :state ORDER BY seq DESC LIMIT :limit",
                state=state,
                limit=limit,
            )
            return tuple(_leaving(row) for row in rows)

        return await self._database.read(unit)

    async def post(self, name: str) -> Leaving:
        """One post by its key or its number. Raises StoreError when there is none."""
        return await self._database.read(lambda transaction: _find_post(transaction, name))

    async def retry_post(self, name: str, *, blindly: bool = False) -> Retried:
        """Have a post sent that was given up.

        One that may have been sent (`unknown`) is looked up in the platform's history first, unless `blindly`. Raises
        StoreError for one that is on its way or was sent.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> Retried:
            found = await _find_post(transaction, name)
            if found.state not in _OUTBOX_RETRIED:
                raise StoreError(f"{found.id} is {found.state}; nothing to retry", hint=_why_not(found.state))
            look = found.state == "unknown" and not blindly
            await transaction.run(
                """
                UPDATE outbox SET state = :state, reason = '', attempts = 0, not_before = 0, settled_ms = NULL,
                       created_ms = :now, lease_owner = '', lease_until = 0, fence = fence + 1 WHERE seq = :seq
                """,
                state="sending" if look else "pending",
                now=now,
                seq=found.seq,
            )
            await self._record(transaction, "outbox.retry", found.id, _before(found, blindly=blindly))
            return Retried.LOOKED_UP_FIRST if look else Retried.SENT_AGAIN

        return await self._database.write(unit)

    async def drop_post(self, name: str) -> Leaving:
        """Never send a post; returns it as it was. Raises StoreError when it is being sent, was sent or was dropped."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> Leaving:
            found = await _find_post(transaction, name)
            if found.state not in _OUTBOX_DROPPED:
                hint = "wait until it is settled" if found.state in ("drafting", "sending") else "nothing to do"
                raise StoreError(f"{found.id} is {found.state}; it can't be dropped", hint=hint)
            await transaction.run(
                """
                UPDATE outbox SET state = 'dropped', reason = :reason, settled_ms = :now, fence = fence + 1
                WHERE seq = :seq
                """,
                reason=f"dropped by {self._actor}",
                now=now,
                seq=found.seq,
            )
            await self._record(transaction, "outbox.drop", found.id, _before(found))
            return found

        return await self._database.write(unit)

    async def _record(self, transaction: Transaction, act: str, name: str, detail: str) -> None:
        await transaction.run(
            "INSERT INTO audit (actor, act, object, detail, done_ms) VALUES (:actor, :act, :object, :detail, :now)",
            actor=self._actor,
            act=act,
            object=name,
            detail=detail,
            now=self._clock.now_ms(),
        )


def _before(found: Arrived | Leaving, **more: object) -> str:
    """What a row was before a change, for the record; no words of anybody."""
    return json.dumps({"state": found.state, "reason": found.reason, "attempts": found.attempts, **more})


def _why_not(state: str) -> str:
    if state == "withdrawn":
        return "its author deleted it"
    return "nothing to do: it was sent" if state == "sent" else "nothing to do: the daemon works on it"


async def _find_message(transaction: Transaction, name: str) -> Arrived:
    rows = await transaction.rows("SELECT * FROM inbox WHERE id = :name OR ts = :name LIMIT 5", name=name)
    if not rows:
        raise StoreError(f"there is no message {name}", hint="see `soul inbox list`")
    if len(rows) > 1:
        ids = ", ".join(row["id"] for row in rows)
        raise StoreError(f"{name} may mean several messages: {ids}", hint="give the whole id")
    return _arrived(rows[0])


async def _find_post(transaction: Transaction, name: str) -> Leaving:
    row = await transaction.one("SELECT * FROM outbox WHERE id = :name OR CAST(seq AS TEXT) = :name", name=name)
    if row is None:
        raise StoreError(f"there is no post {name}", hint="see `soul outbox list`")
    return _leaving(row)


def _arrived(row: sqlite3.Row) -> Arrived:
    return Arrived(**{name: row[name] for name in Arrived.__dataclass_fields__})


def _leaving(row: sqlite3.Row) -> Leaving:
    return Leaving(**{name: row[name] for name in Leaving.__dataclass_fields__} | {"last": bool(row["last"])})
