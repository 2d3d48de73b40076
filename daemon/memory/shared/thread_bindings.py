"""Bound threads as daemons see them: which there are, what becomes of them in time, what their sessions say there."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from daemon.core.bound_threads import MOST_SAID_HOURLY, BoundThread
from daemon.core.notes import MARK, NoteKind, NoteState
from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports.clock import Clock
from daemon.core.questions import News
from daemon.core.sessions import CodeSession
from daemon.memory.bound_threads import bound_by_session, bound_to, end_binding, say_of_binding
from daemon.memory.database import Database, Transaction
from daemon.memory.records import read_row
from daemon.memory.shared.messages import note_of
from daemon.memory.shared.questions import tell_people
from daemon.memory.shared.sessions import session_of

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
