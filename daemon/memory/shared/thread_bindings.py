"""Bound threads for daemons: their list, changes and posts by sessions, and the companions that wake sessions."""

import hashlib
import secrets
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from daemon.core.notes import MARK, NoteKind, NoteState, SharedMessage
from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports.services import Clock
from daemon.core.questions import MOST_SAID_HOURLY, BoundThread, News
from daemon.core.sessions import CodeSession, KeyOwner, Lost, SessionState
from daemon.core.value import Value
from daemon.memory.bound_threads import bound_by_session, bound_to, end_binding, say_of_binding
from daemon.memory.database import Database, Transaction
from daemon.memory.records import read_row
from daemon.memory.shared.messages import note_of
from daemon.memory.shared.questions import offer, tell_people
from daemon.memory.shared.sessions import end_session, read_session, require_key, session_of

_HOUR_MS: Final = 3_600_000


class SaidInThread(StrEnum):
    """The result of a session's post in its thread."""

    TAKEN = "taken"
    BEFORE = "before"  # the same call came before; it is said once
    UNBOUND = "unbound"
    OVER = "over"


class WatchedThread(Value):
    """A bound thread with its current session. `key_ended`: the session's key was revoked."""

    bound: BoundThread
    session: CodeSession | None
    key_ended: bool


class ThreadBindings:
    def __init__(self, database: Database, clock: Clock, workspace: str) -> None:
        self._database = database
        self._clock = clock
        self._workspace = workspace

    async def by_session(self) -> Mapping[str, str]:
        """Return each bound session's conversation. Raises StoreError."""
        return await self._database.read(bound_by_session)

    async def of_soul(self, soul: str) -> list[WatchedThread]:
        """Return a soul's bound threads. Raises StoreError."""

        async def unit(transaction: Transaction) -> list[WatchedThread]:
            first = str(ConversationKey(soul, self._workspace, "")).rstrip("/") + "/"
            rows = await transaction.rows(
                """
                SELECT b.*, EXISTS (SELECT 1 FROM sessions s JOIN keys k ON k.id = s.key
                                    WHERE s.id = b.session AND k.revoked_ms IS NOT NULL) AS key_ended
                FROM bound_threads b WHERE b.conversation >= :first AND b.conversation < :first || char(1114111)
                """,
                first=first,
            )
            return [
                WatchedThread(
                    read_row(BoundThread, row, everybody=bool),
                    await session_of(transaction, self._workspace, row["session"]),
                    bool(row["key_ended"]),
                )
                for row in rows
            ]

        return await self._database.read(unit)

    async def went(self, bound: BoundThread) -> bool:
        """Record once that the session is gone, and say so in its thread. Raises StoreError."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> bool:
            changed = await transaction.one(
                """
                UPDATE bound_threads SET gone_ms = :now
                WHERE conversation = :id AND session = :session AND gone_ms IS NULL RETURNING 1
                """,
                id=bound.conversation,
                session=bound.session,
                now=now,
            )
            if changed is not None:
                await say_of_binding(transaction, bound, "bound_gone", now, to=bound.person)
            return changed is not None

        return await self._database.write(unit)

    async def came_back(self, bound: BoundThread) -> bool:
        """Record that the session returned. Raises StoreError."""
        rows = await self._database.run(
            "UPDATE bound_threads SET gone_ms = NULL WHERE conversation = :id AND session = :session RETURNING 1",
            id=bound.conversation,
            session=bound.session,
        )
        return bool(rows)

    async def end(self, bound: BoundThread, why: str) -> bool:
        """End a binding, and post the sentence with key `why` in the thread. Raises StoreError."""
        now = self._clock.now_ms()
        return await self._database.write(
            lambda transaction: end_binding(transaction, bound, why, now, to=bound.person)
        )

    async def say(self, session: CodeSession, words: str, call: str) -> SaidInThread:
        """Post a session's words in its thread, in its name, once for each `call`. Raises StoreError."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> SaidInThread:
            bound = await bound_to(transaction, session.id)
            if bound is None:
                return SaidInThread.UNBOUND
            if await note_of(transaction, call) is not None:
                return SaidInThread.BEFORE
            if await _said_since(transaction, session.key, now - _HOUR_MS) >= MOST_SAID_HOURLY:
                return SaidInThread.OVER
            return await _store_said(transaction, session, bound, words, call, now)

        return await self._database.write(unit)


async def _said_since(transaction: Transaction, key: str, since_ms: int) -> int:
    row = await transaction.one(
        """
        SELECT count(*) AS number FROM shared_messages m JOIN sessions s ON s.id = m.sender
        WHERE m.kind = 'said' AND s.key = :key AND m.created_ms > :since
        """,
        key=key,
        since=since_ms,
    )
    assert row is not None  # a count
    return int(row["number"])


async def _store_said(  # noqa: PLR0917 - one of each
    transaction: Transaction, session: CodeSession, bound: BoundThread, words: str, call: str, now: int
) -> SaidInThread:
    where = ConversationKey.parse(bound.conversation)
    row = await transaction.one("SELECT audience FROM conversations WHERE id = :id", id=bound.conversation)
    assert row is not None  # the binding refers to it
    await transaction.insert(
        "shared_messages",
        id=call,
        kind=NoteKind.SAID,
        sender=session.id,
        addressee=where.soul,
        workspace=where.workspace,
        conversation=bound.conversation,
        heard_in=bound.conversation,
        inbox="",
        behalf=session.person or await _last_person(transaction, bound.conversation),
        audience=str(Audience.parse(row["audience"])),
        hops=1,
        state=NoteState.WAITING,
        created_ms=now,
        words=words,
        owner=session.person,
        called=session.name,
        reply_to=where.thread,
    )
    note = await note_of(transaction, call)
    assert note is not None  # stored in this very transaction
    inbox, heard_in = await tell_people(transaction, note, News.SAID, now, answer=call)
    await transaction.run(
        "UPDATE shared_messages SET inbox = :inbox, heard_in = :heard_in WHERE id = :id",
        inbox=inbox,
        heard_in=heard_in,
        id=call,
    )
    return SaidInThread.TAKEN


async def _last_person(transaction: Transaction, conversation: str) -> str:
    """Return the last author in a thread, for the gate if a session has no person."""
    row = await transaction.one(
        """
        SELECT author FROM inbox WHERE conversation = :id AND modality = 'words' AND author <> ''
        ORDER BY received_ms DESC LIMIT 1
        """,
        id=conversation,
    )
    return str(row["author"]) if row else ""


def new_call() -> str:
    """Return the id of a post for which the session gives none."""
    return f"{MARK}{secrets.token_hex(6)}"


def said_by(author: str, session: str, call: str) -> str:
    """Return the id of a session's post, always the same for the session's own id of it."""
    return f"{MARK}{hashlib.sha256('|'.join((author, session, call)).encode()).hexdigest()[:24]}"


_LOST = tuple(Lost)


class CompanionStore:
    """The companion processes of one workspace's sessions that wait at this daemon."""

    def __init__(self, database: Database, workspace: str) -> None:
        self._database = database
        self._workspace = workspace
        self._daemon = database.processes.own

    async def session(self, process: str, owner: KeyOwner) -> CodeSession | None:
        """Return the owner's current or lost session in a process. Raises KeyEnded, and StoreError."""

        async def unit(transaction: Transaction) -> CodeSession | None:
            await require_key(transaction, owner)
            return await self._newest(transaction, process, owner)

        found = await self._database.read(unit)
        return found if found and (found.living or found.reason in _LOST) else None

    async def attach(self, process: str, owner: KeyOwner, *, wakes: bool, now: int) -> CodeSession | None:
        """Record that a session's companion waits here, and return the session. Raises KeyEnded, and StoreError."""
        found = await self.session(process, owner)
        if found is None or (found.living and (found.companion, found.wakes) == (self._daemon, wakes)):
            return found

        async def unit(transaction: Transaction) -> CodeSession | None:
            newest = await self._newest(transaction, process, owner)
            if newest is None or not (newest.living or newest.reason in _LOST):
                return None
            row = await transaction.one(
                """
                UPDATE sessions SET companion = :daemon, wakes = :wakes, seen_ms = max(seen_ms, :now), ended_ms = NULL,
                  reason = CASE state WHEN 'gone' THEN '' ELSE reason END,
                  state = CASE state WHEN 'gone' THEN 'idle' ELSE state END
                WHERE id = :id AND (state <> 'gone' OR NOT EXISTS (
                  SELECT 1 FROM sessions o WHERE o.workspace = sessions.workspace AND o.name = sessions.name
                    AND o.state <> 'gone' AND o.id <> sessions.id))
                RETURNING *
                """,
                id=newest.id,
                daemon=self._daemon,
                wakes=wakes,
                now=now,
            )
            return read_session(row) if row else None

        return await self._database.write(unit)

    async def leave(self, process: str, owner: KeyOwner, *, now: int) -> bool:
        """End the session whose companion waited here. Return False if there was none. Raises StoreError."""

        async def unit(transaction: Transaction) -> bool:
            rows = await transaction.rows(
                """
                UPDATE sessions SET companion = '', wakes = 0, seen_ms = max(seen_ms, :now)
                WHERE process = :process AND workspace = :workspace AND person = :person AND key = :key
                  AND companion = :daemon AND state <> 'gone' RETURNING id
                """,
                process=process,
                workspace=self._workspace,
                person=owner.person,
                key=owner.key,
                daemon=self._daemon,
                now=now,
            )
            for row in rows:
                await end_session(transaction, row["id"], Lost.PROCESS, now)
            return bool(rows)

        return await self._database.write(unit)

    async def offer(self, session: CodeSession, now: int) -> SharedMessage | None:
        """Return the question to wake an idle session with now, or None. Raises StoreError."""

        async def unit(transaction: Transaction) -> SharedMessage | None:
            row = await transaction.one("SELECT state FROM sessions WHERE id = :id", id=session.id)
            if row is None or row["state"] != SessionState.IDLE:
                return None
            return await offer(transaction, session.id, now)

        return await self._database.write(unit)

    async def _newest(self, transaction: Transaction, process: str, owner: KeyOwner) -> CodeSession | None:
        row = await transaction.one(
            """
            SELECT * FROM sessions WHERE process = :process AND process <> '' AND workspace = :workspace
              AND person = :person AND key = :key ORDER BY state = 'gone', seen_ms DESC, started_ms DESC LIMIT 1
            """,
            process=process,
            workspace=self._workspace,
            person=owner.person,
            key=owner.key,
        )
        return read_session(row) if row else None
