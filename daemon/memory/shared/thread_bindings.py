"""Bound threads as daemons see them: which there are, what becomes of them in time, what their sessions say there."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from daemon.core.notes import MARK, NoteKind, NoteState, SharedMessage
from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports.services import Clock
from daemon.core.questions import MOST_SAID_HOURLY, BoundThread, News
from daemon.core.sessions import CodeSession, KeyOwner, Lost, SessionState
from daemon.memory.bound_threads import bound_by_session, bound_to, end_binding, say_of_binding
from daemon.memory.database import Database, Transaction
from daemon.memory.records import read_row
from daemon.memory.shared.messages import note_of
from daemon.memory.shared.questions import offer, tell_people
from daemon.memory.shared.sessions import end_session, read_session, require_key, session_of

_HOUR_MS: Final = 3_600_000


class SaidInThread(StrEnum):
    """What came of what a session wants said in its thread."""

    TAKEN = "taken"
    BEFORE = "before"  # the same call came before; it is said once
    UNBOUND = "unbound"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class WatchedThread:
    """A bound thread with its session as it is known now; `key_ended`: the session's key was revoked."""

    bound: BoundThread
    session: CodeSession | None
    key_ended: bool


class ThreadBindings:
    """The bound threads of one workspace."""

    def __init__(self, database: Database, clock: Clock, workspace: str) -> None:
        self._database = database
        self._clock = clock
        self._workspace = workspace

    async def by_session(self) -> Mapping[str, str]:
        """The conversations that are bound, by session. Raises StoreError."""
        return await self._database.read(bound_by_session)

    async def of_soul(self, soul: str) -> list[WatchedThread]:
        """Those that a soul has. Raises StoreError."""

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
        """The session is gone: its thread hears so, once. Raises StoreError."""
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
        """The session is there again. Raises StoreError."""
        rows = await self._database.run(
            "UPDATE bound_threads SET gone_ms = NULL WHERE conversation = :id AND session = :session RETURNING 1",
            id=bound.conversation,
            session=bound.session,
        )
        return bool(rows)

    async def end(self, bound: BoundThread, why: str) -> bool:
        """The thread is bound no more, and hears `why`, a key of the sentences. Raises StoreError."""
        now = self._clock.now_ms()
        return await self._database.write(
            lambda transaction: end_binding(transaction, bound, why, now, to=bound.person)
        )

    async def say(self, session: CodeSession, words: str, call: str) -> SaidInThread:
        """Have something said in the thread of a session, in its name; `call` names it, so that it is said once.

        Raises StoreError.
        """
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
    """Who wrote last in a thread, whom the gate is asked about where a session has no person."""
    row = await transaction.one(
        """
        SELECT author FROM inbox WHERE conversation = :id AND modality = 'words' AND author <> ''
        ORDER BY received_ms DESC LIMIT 1
        """,
        id=conversation,
    )
    return str(row["author"]) if row else ""


def new_call() -> str:
    """The name of something that is said, where its session gives none."""
    return f"{MARK}{secrets.token_hex(6)}"


def said_by(author: str, session: str, call: str) -> str:
    """The name of something that is said, the same whenever the session says it by the same id."""
    return f"{MARK}{hashlib.sha256('|'.join((author, session, call)).encode()).hexdigest()[:24]}"


_LOST = tuple(Lost)


class CompanionStore:
    """The companions of one workspace's sessions that wait at this daemon."""

    def __init__(self, database: Database, workspace: str) -> None:
        self._database = database
        self._workspace = workspace
        self._daemon = database.processes.own

    async def session(self, process: str, owner: KeyOwner) -> CodeSession | None:
        """The owner's session that runs in a process now; one that was lost is there again.

        Raises KeyEnded once the owner's key is ended, and StoreError.
        """

        async def unit(transaction: Transaction) -> CodeSession | None:
            await require_key(transaction, owner)
            return await self._newest(transaction, process, owner)

        found = await self._database.read(unit)
        return found if found and (found.living or found.reason in _LOST) else None

    async def attach(self, process: str, owner: KeyOwner, *, wakes: bool, now: int) -> CodeSession | None:
        """Note that the companion of the session in a process waits here; gives that session, None where there is none.

        Writes only where that is new. Raises KeyEnded, and StoreError.
        """
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
        """Note that no companion of the session in a process waits here any more: the session has ended.

        Gives whether one was there. Raises StoreError.
        """

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
        """The question with which a session that rests is to be woken now, if there is one. Raises StoreError."""

        async def unit(transaction: Transaction) -> SharedMessage | None:
            row = await transaction.one("SELECT state FROM sessions WHERE id = :id", id=session.id)
            if row is None or row["state"] != SessionState.IDLE:
                return None
            return await offer(transaction, session.id, now)

        return await self._database.write(unit)

    async def _newest(self, transaction: Transaction, process: str, owner: KeyOwner) -> CodeSession | None:
        """The session that an owner ran in a process last."""
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
