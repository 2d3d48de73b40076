"""Messages, posts and background jobs, as an admin lists, retries and drops them, with entries in the audit log."""

import json
import re
from collections.abc import Sequence
from enum import StrEnum

from daemon.core.errors import StoreError
from daemon.memory.audit import AuditedChanges, one_write
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.records import Row

INBOX_STATES = ("new", "claimed", "answered", "ignored", "withdrawn", "stale", "dead", "dropped")
OUTBOX_STATES = ("drafting", "pending", "sending", "sent", "unknown", "expired", "dead", "dropped")
JOB_STATES = ("ready", "running", "done", "dead")
_INBOX_RETRIED = frozenset({"dead", "ignored", "stale", "dropped"})
_INBOX_DROPPED = frozenset({"new", "claimed", "dead", "ignored", "stale"})
_OUTBOX_RETRIED = frozenset({"pending", "unknown", "dead", "expired", "dropped"})
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
_OUTBOX_DROPPED = frozenset({"pending", "unknown", "dead", "expired"})

SETTLED_MESSAGES = ("dead", "stale", "ignored", "dropped")
"""The states of messages that can be retried many at once."""
SETTLED_POSTS = ("dead", "unknown", "expired", "dropped")
"""The states of posts that can be retried many at once."""


class Retried(StrEnum):
    """The daemon's next step for a retried post."""

    SENT_AGAIN = "sent again"
    LOOKED_UP_FIRST = "looked up first"


class Admin(AuditedChanges):
    async def messages(self, state: str | None, limit: int, since_ms: int = 0) -> list[Row]:
        """Return the newest messages, of one state or of all, settled or received since a time."""
        states = (state,) if state else INBOX_STATES
        rows = await self._database.read(
            lambda reading: newest(
                reading, "inbox", states, "received_ms", limit, since=("coalesce(settled_ms, received_ms)", since_ms)
            )
        )
        return [dict(row) for row in rows]

    async def message(self, name: str) -> Row:
        """Return one message by its id or ts. Raises StoreError if none or several match."""
        return await self._database.read(lambda transaction: _find_message(transaction, name))

    @one_write
    async def retry_message(self, transaction: Transaction, name: str, *, force: bool = False) -> Row:
        """Queue a message for a reply again, and return the row before.

        Raises StoreError if it waits, is in work, was deleted, or (without `force`) was answered.
        """
        now = self._clock.now_ms()
        found = await _find_message(transaction, name)
        if found["state"] == "answered" and not force:
            raise StoreError(f"{found['id']} has a reply", hint="repeat with --force for a second reply")
        lapsed = found["state"] == "claimed" and not await _is_worked_on(transaction, found, now)
        if found["state"] not in _INBOX_RETRIED | {"answered"} and not lapsed:
            raise _no_retry(found)
        await _require_text(transaction, "inbox", found["id"])
        # It counts as received live and now, or it would be stale again at once.
        await transaction.run(
            """
            UPDATE inbox SET state = 'new', aside = 0, reason = '', attempts = 0, not_before = 0, settled_ms = NULL,
                   answered_by = NULL, source = 'live', received_ms = :now WHERE id = :id
            """,
            now=now,
            id=found["id"],
        )
        await self._record(transaction, "inbox.retry", found["id"], _before(found, source=found["source"]))
        return found

    @one_write
    async def drop_message(self, transaction: Transaction, name: str) -> Row:
        """Leave a message without a reply for good, and return the row before. Raises StoreError if it is settled."""
        now = self._clock.now_ms()
        found = await _find_message(transaction, name)
        if found["state"] not in _INBOX_DROPPED:
            raise StoreError(f"{found['id']} is {found['state']} already", hint="nothing to do")
        await transaction.run(
            "UPDATE inbox SET state = 'dropped', aside = 0, reason = :reason, settled_ms = :now WHERE id = :id",
            reason=f"dropped by {self._actor}",
            now=now,
            id=found["id"],
        )
        await self._record(transaction, "inbox.drop", found["id"], _before(found))
        return found

    async def posts(self, state: str | None, limit: int, since_ms: int = 0) -> list[Row]:
        """Return the newest posts, of one state or of all, settled or created since a time."""
        states = (state,) if state else OUTBOX_STATES
        rows = await self._database.read(
            lambda reading: newest(
                reading, "outbox", states, "seq", limit, since=("coalesce(settled_ms, created_ms)", since_ms)
            )
        )
        return [_outbox_row(row) for row in rows]

    async def post(self, name: str) -> Row:
        """Return one post by its key or number. Raises StoreError if there is none."""
        return await self._database.read(lambda transaction: _find_post(transaction, name))

    @one_write
    async def retry_post(self, transaction: Transaction, name: str, *, blindly: bool = False) -> Retried:
        """Queue a failed post again, or end its pause.

        Unless `blindly`, the daemon first looks in Slack's history for a post that may have been sent. Raises
        StoreError if the post was sent or is being sent.
        """
        now = self._clock.now_ms()
        found = await _find_post(transaction, name)
        if found["state"] not in _OUTBOX_RETRIED and not _has_lapsed(found, now):
            raise _no_retry(found)
        await _require_text(transaction, "outbox", found["id"])
        look = (found["state"] in ("unknown", "sending") or found["faults"] > 0) and not blindly
        await transaction.run(
            """
            UPDATE outbox SET state = :state, reason = '', attempts = 0, not_before = 0, settled_ms = NULL,
                   created_ms = :now, lease_owner = '', lease_until = 0, fence = fence + 1,
                   faults = 0, draft_tries = 0, doubted_ms = NULL WHERE seq = :seq
            """,
            state="sending" if look else "pending",
            now=now,
            seq=found["seq"],
        )
        await self._record(transaction, "outbox.retry", found["id"], _before(found, blindly=blindly))
        return Retried.LOOKED_UP_FIRST if look else Retried.SENT_AGAIN

    @one_write
    async def drop_post(self, transaction: Transaction, name: str) -> Row:
        """Give up a post for good, and return the row before. Raises StoreError if it can't be dropped any more."""
        now = self._clock.now_ms()
        found = await _find_post(transaction, name)
        if found["state"] not in _OUTBOX_DROPPED and not _has_lapsed(found, now):
            working = found["state"] in ("drafting", "sending")
            hint = "wait until the daemon is done with it" if working else "nothing to do"
            raise StoreError(f"{found['id']} is {found['state']}; it can't be dropped", hint=hint)
        await transaction.run(
            """
            UPDATE outbox SET state = 'dropped', reason = :reason, settled_ms = :now, fence = fence + 1
            WHERE seq = :seq
            """,
            reason=f"dropped by {self._actor}",
            now=now,
            seq=found["seq"],
        )
        await self._record(transaction, "outbox.drop", found["id"], _before(found))
        return found


async def newest(
    transaction: Transaction,
    table: str,
    states: Sequence[str],
    order: str,
    limit: int,
    *,
    since: tuple[str, int] = ("0", 0),
) -> list[sqlite3.Row]:
    """Return the rows of some states with the largest values in a column, with an index on state and column.

    With `since`, return only rows with a time (an SQL expression, in ms) that isn't earlier. `table`, `order` and that
    expression become part of the statement: they must be literals, never input.
    """
    found: list[sqlite3.Row] = []
    for state in states:
        found += await transaction.rows(
            f"""
            SELECT * FROM {table} WHERE state = :state AND {since[0]} >= :since
            ORDER BY {order} DESC LIMIT :limit
            """,  # noqa: S608 - literals
            state=state,
            since=since[1],
            limit=limit,
        )
    return sorted(found, key=lambda row: -row[order])[:limit]


def _before(found: Row, **more: object) -> str:
    return json.dumps({"state": found["state"], "reason": found["reason"], "attempts": found["attempts"], **more})


def _has_lapsed(found: Row, now_ms: int) -> bool:
    """Return True if no daemon is sending the post: it rests between two tries, or its daemon died."""
    return bool(found["state"] == "sending" and found["lease_until"] <= now_ms)


def _no_retry(found: Row) -> StoreError:
    state = found["state"]
    hint = "nothing to do: it was sent" if state == "sent" else "nothing to do: the daemon works on it"
    said = f"{found['id']} is {state}; nothing to retry"
    return StoreError(said, hint="its author deleted it" if state == "withdrawn" else hint)


async def _is_worked_on(transaction: Transaction, found: Row, now: int) -> bool:
    row = await transaction.one("SELECT lease_until FROM conversations WHERE id = :id", id=found["conversation"])
    return row is not None and row["lease_until"] > now


async def _require_text(transaction: Transaction, table: str, row_id: str) -> None:
    if await transaction.one(f"SELECT 1 FROM {table} WHERE id = :id AND cleared = 1", id=row_id):  # noqa: S608 - a literal
        raise StoreError(f"the text of {row_id} was deleted because of its age", hint="see SOUL_QUEUE_TEXT_DAYS")


async def _find_message(transaction: Transaction, name: str) -> Row:
    rows = await transaction.rows("SELECT * FROM inbox WHERE id = :name", name=name)
    rows = rows or await transaction.rows("SELECT * FROM inbox WHERE ts = :name LIMIT 5", name=name)
    if not rows:
        raise StoreError(f"there is no message {name}", hint="see `soul queue inbox list`")
    if len(rows) > 1:
        ids = ", ".join(row["id"] for row in rows)
        raise StoreError(f"{name} matches several messages: {ids}", hint="give the whole id")
    return dict(rows[0])


async def _find_post(transaction: Transaction, name: str) -> Row:
    row = await transaction.one("SELECT * FROM outbox WHERE id = :name", name=name)
    if row is None and _NUMBER.fullmatch(name):
        row = await transaction.one("SELECT * FROM outbox WHERE seq = :seq", seq=int(name))
    if row is None:
        raise StoreError(f"there is no post {name}", hint="see `soul queue outbox list`")
    return _outbox_row(row)


def _outbox_row(row: sqlite3.Row) -> Row:
    return {**dict(row), "last": bool(row["last"])}


class JobAdmin(AuditedChanges):
    async def jobs(self, state: str | None, limit: int, since_ms: int = 0) -> list[Row]:
        """Return the newest jobs, of one state or of all, settled or created since a time."""
        rows = await self._database.rows(
            """
            SELECT * FROM jobs WHERE (:state IS NULL OR state = :state) AND coalesce(settled_ms, created_ms) >= :since
            ORDER BY seq DESC LIMIT :limit
            """,
            state=state,
            limit=limit,
            since=since_ms,
        )
        return [dict(row) for row in rows]

    @one_write
    async def retry(self, transaction: Transaction, seq: int) -> Row:
        """Queue a dead job again, and return the row before. Raises StoreError if not dead or already replaced."""
        found = await _find_job(transaction, seq)
        if found["state"] != "dead":
            raise StoreError(f"job {seq} is {found['state']}; nothing to retry", hint="see `soul queue jobs list`")
        newer = await transaction.one(
            """
            SELECT 1 FROM jobs WHERE conversation = :conversation AND kind = :kind AND state IN ('ready', 'running')
            """,
            conversation=found["conversation"],
            kind=found["kind"],
        )
        if newer is not None:
            raise StoreError(f"a newer job does the work of job {seq}", hint=f"soul queue jobs drop {seq}")
        await transaction.run(
            """
            UPDATE jobs SET state = 'ready', reason = '', attempts = 0, faults = 0, not_before = 0,
                   settled_ms = NULL, fence = fence + 1 WHERE seq = :seq
            """,
            seq=seq,
        )
        await self._record(transaction, "jobs.retry", str(seq), found["kind"])
        return found

    @one_write
    async def drop(self, transaction: Transaction, seq: int) -> Row:
        """Give up a dead job for good, and return the row before. Raises StoreError if the job isn't dead."""
        now = self._clock.now_ms()
        found = await _find_job(transaction, seq)
        if found["state"] != "dead":
            raise StoreError(f"job {seq} is {found['state']}; only a dead one is dropped", hint="nothing to do")
        await transaction.run(
            "UPDATE jobs SET state = 'done', reason = :reason, settled_ms = :now WHERE seq = :seq",
            reason=f"dropped by {self._actor}",
            now=now,
            seq=seq,
        )
        await self._record(transaction, "jobs.drop", str(seq), found["kind"])
        return found


async def _find_job(transaction: Transaction, seq: int) -> Row:
    row = await transaction.one("SELECT * FROM jobs WHERE seq = :seq", seq=seq)
    if row is None:
        raise StoreError(f"there is no job {seq}", hint="see `soul queue jobs list`")
    return dict(row)
