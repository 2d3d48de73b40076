"""SQL for sessions: an event is taken once, in one transaction with its effects on other sessions."""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from daemon.core.errors import StoreError
from daemon.core.lineage import session_id
from daemon.core.notes import SharedMessage
from daemon.core.pairing import handle
from daemon.core.sessions import (
    CodeSession,
    HookEvent,
    KeyEnded,
    KeyOwner,
    NotTheirSession,
    SessionState,
    SessionWords,
    TooManySessions,
    Visibility,
    after,
    is_older,
)
from daemon.core.value import Value
from daemon.memory.bound_threads import drop_unwatched, follow_session
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.shared.questions import at_the_edge_of_a_turn, follow, open_by_session, take_back
from daemon.memory.shared.session_words import is_to_be_heard, keep_said
from daemon.memory.stream.emptying import empty_thoughts_on

_FIELDS: Final = CodeSession.__struct_fields__
_STORED_AGAIN: Final = "ON CONFLICT (id) DO UPDATE SET " + ", ".join(
    f"{name} = excluded.{name}" for name in _FIELDS if name != "id"
)
MOST_OF_A_KEY: Final = 200
"""The most kept sessions of a key. The oldest ended ones are deleted first."""

MOST_LISTED: Final = 500
"""The most sessions in one list."""

_READS_THE_ANSWER: Final = frozenset({"SessionStart", "UserPromptSubmit"})


class Taken(Value):
    """The result of an event: its session or None, and the siblings to name to it now.

    `new` is False for a repeated event, which changed nothing. `note` is a question for the session. `full`: the
    session must learn, once a day, that the key's limit is reached.
    """

    session: CodeSession | None
    met: tuple[CodeSession, ...] = ()
    new: bool = True
    note: SharedMessage | None = None
    full: bool = False


class SessionStore:
    def __init__(self, database: Database, workspace: str) -> None:
        self._database = database
        self._workspace = workspace

    async def living(self) -> list[CodeSession]:
        """Return the sessions that haven't ended by their rows. Raises StoreError."""
        return await self._list("state <> 'gone'")

    async def all(self) -> list[CodeSession]:
        """Return all kept sessions, most recently seen first. Raises StoreError."""
        return await self._list("1 = 1")

    async def one(self, id_: str) -> CodeSession | None:
        return await self._database.read(lambda transaction: session_of(transaction, self._workspace, id_))

    async def newest(self, person: str | None) -> list[CodeSession]:
        """Return a person's sessions (None: all), living ones first, then by last seen. Raises StoreError."""
        rows = await self._database.rows(
            """
            SELECT * FROM sessions WHERE workspace = :workspace AND (:everybody OR person = :person)
            ORDER BY state = 'gone', seen_ms DESC, id LIMIT :most
            """,
            workspace=self._workspace,
            everybody=person is None,
            person=person or "",
            most=MOST_LISTED,
        )
        return [read_session(row) for row in rows]

    async def require_key(self, owner: KeyOwner) -> None:
        """Raise KeyEnded if the owner's key was revoked, and StoreError."""
        await self._database.read(lambda transaction: require_key(transaction, owner))

    async def waiting(self) -> Mapping[str, int]:
        """Return the number of open questions of each session. Raises StoreError."""
        return await self._database.read(open_by_session)

    async def take(
        self, event: HookEvent, owner: KeyOwner, lost: Mapping[str, str], words: SessionWords | None = None
    ) -> Taken:
        """Take an event, end `lost` sessions (id to reason), and keep the event's `words`.

        Raises NotTheirSession for another person's session, KeyEnded for a revoked key, TooManySessions, and
        StoreError.
        """
        fresh = CodeSession(event.session, owner.key, owner.person, self._workspace, owner.visibility)

        async def unit(transaction: Transaction) -> Taken:
            await require_key(transaction, owner)
            for id_, reason in lost.items():
                await end_session(transaction, id_, reason, event.received_ms)
            row = await transaction.one("SELECT * FROM sessions WHERE id = :id", id=event.session)
            found = read_session(row) if row else None
            if found and (found.person, found.workspace) != (owner.person, self._workspace):
                raise NotTheirSession("there is no such session", hint="use the key with which it began")
            if await _came_before(transaction, event):
                if found and event.ends_turn and not event.at_once:  # its script never got the answer to it
                    await take_back(transaction, found.id, prompt=event.prompt)
                return Taken(found, new=False)
            taken = await _taken(transaction, event, found, fresh, owner)
            if taken.session and taken.session.unwatched:
                await drop_unwatched(transaction, taken.session.id, event.received_ms)
            if words is not None and taken.session is not None:
                await keep_said(transaction, owner, event, words)
            note = await at_the_edge_of_a_turn(transaction, event, taken.session) if taken.session else None
            hears = event.hook in _READS_THE_ANSWER and event.at_once
            full = hears and owner.keeps_words and await is_to_be_heard(transaction, owner.key, event.received_ms)
            return replace(taken, note=note, full=full)

        return await self._database.write(unit)

    async def forget(self, name: str) -> int:
        """Delete the sessions with this name or id, and return their number. Raises StoreError."""

        async def unit(transaction: Transaction) -> int:
            rows = await transaction.rows(
                "DELETE FROM sessions WHERE workspace = :workspace AND (id = :name OR name = :name) RETURNING id",
                workspace=self._workspace,
                name=name,
            )
            await empty_thoughts_on(transaction, [session_id(row["id"]) for row in rows])
            return len(rows)

        if not (gone := await self._database.write(unit)):
            raise StoreError(f"there is no session {name[:80]}", hint="see `soul sessions --all`")
        return gone

    async def _list(self, which: str) -> list[CodeSession]:
        rows = await self._database.rows(
            f"SELECT * FROM sessions WHERE workspace = :workspace AND {which} ORDER BY seen_ms DESC, id",  # noqa: S608 - a literal
            workspace=self._workspace,
        )
        return [read_session(row) for row in rows]


async def session_of(transaction: Transaction, workspace: str, id_: str) -> CodeSession | None:
    row = await transaction.one(
        "SELECT * FROM sessions WHERE id = :id AND workspace = :workspace", id=id_, workspace=workspace
    )
    return read_session(row) if row else None


async def require_key(transaction: Transaction, owner: KeyOwner) -> None:
    """Raise KeyEnded if the key was revoked, or its person forgotten."""
    if not owner.key:
        return
    if not await transaction.one("SELECT 1 FROM keys WHERE id = :id AND revoked_ms IS NULL", id=owner.key):
        raise KeyEnded("this key was ended", hint="ask the admin for another")


async def _came_before(transaction: Transaction, event: HookEvent) -> bool:
    noted = await transaction.insert(
        "session_events", "ON CONFLICT (id) DO NOTHING RETURNING id", id=event.id, at_ms=event.received_ms
    )
    return noted is None


async def _taken(
    transaction: Transaction, event: HookEvent, found: CodeSession | None, fresh: CodeSession, owner: KeyOwner
) -> Taken:
    session = after(found, event, fresh)
    if session is None:
        return Taken(None)
    session = replace(
        session, key=owner.key, visibility=owner.visibility, person_name=owner.name or session.person_name
    )
    if found is None or found.key != owner.key:
        await _make_room(transaction, session)
    if event.hook == "SessionStart" and not (found and is_older(found, event)):
        session = await _alone_in_its_process(transaction, session, event)
    if session.living and not (found and found.living and found.name):
        session = replace(session, name=await _free_name(transaction, session, event))
    await _store(transaction, session)
    if event.hook == "SessionStart":
        await _take_over(transaction, session, event)
    if not session.living:
        return Taken(session)
    if found is None or _meets_anew(found, session):
        await _meet(transaction, session)
    met = await _to_name(transaction, session) if event.hook in _READS_THE_ANSWER and event.at_once else ()
    return Taken(session, met)


async def _make_room(transaction: Transaction, session: CodeSession) -> None:
    """Delete the key's oldest ended sessions if it has too many. Raises TooManySessions."""
    whose = {"workspace": session.workspace, "person": session.person, "key": session.key, "id": session.id}
    found = await transaction.rows(
        """
        SELECT id, state FROM sessions WHERE workspace = :workspace AND person = :person AND key = :key AND id <> :id
        ORDER BY state <> 'gone', seen_ms, id
        """,
        **whose,
    )
    for row in found[: max(0, len(found) + 1 - MOST_OF_A_KEY)]:
        if row["state"] != "gone":
            raise TooManySessions(
                f"this key has {MOST_OF_A_KEY} sessions that have not ended",
                hint="end some of them, or delete them with `soul sessions forget NAME`",
            )
        await transaction.run("DELETE FROM sessions WHERE id = :id", id=row["id"])


def _meets_anew(found: CodeSession, session: CodeSession) -> bool:
    before = found.living, found.host, found.root, found.branch, found.visibility
    return before != (session.living, session.host, session.root, session.branch, session.visibility)


async def _alone_in_its_process(transaction: Transaction, session: CodeSession, event: HookEvent) -> CodeSession:
    """End other sessions of the process, which runs one at a time: their own end may never be reported."""
    for other in await _in_its_process(transaction, session):
        if not other.living:
            continue
        if is_older(other, event):
            return session.gone("replaced", event.happened_ms)
        reason = event.source if event.source in {"clear", "resume"} else "replaced"
        await end_session(transaction, other.id, reason, event.happened_ms)
    return session


async def _in_its_process(transaction: Transaction, session: CodeSession) -> list[CodeSession]:
    """Return the person's other sessions of the same process, newest first."""
    if not session.process:
        return []
    rows = await transaction.rows(
        """
        SELECT * FROM sessions WHERE process = :process AND process <> '' AND id <> :id
          AND workspace = :workspace AND person = :person ORDER BY seen_ms DESC, started_ms DESC
        """,
        process=session.process,
        id=session.id,
        workspace=session.workspace,
        person=session.person,
    )
    return [read_session(row) for row in rows]


async def _free_name(transaction: Transaction, session: CodeSession, event: HookEvent) -> str:
    """Return the session's earlier name, that of the session before `/clear`, or the first free numbered one."""
    names = [session.name] if session.name else []
    if event.source == "clear":
        names += [one.name for one in (await _in_its_process(transaction, session))[:1]]
    first = handle(session.person_name or ("" if session.person else "admin"), session.project)
    for name in (*names, first):
        if await _is_free(transaction, session, name):
            return name
    number = 2
    while not await _is_free(transaction, session, f"{first}-{number}"):
        number += 1
    return f"{first}-{number}"


async def _is_free(transaction: Transaction, session: CodeSession, name: str) -> bool:
    row = await transaction.one(
        "SELECT 1 FROM sessions WHERE workspace = :workspace AND name = :name AND state <> 'gone' AND id <> :id",
        workspace=session.workspace,
        name=name,
        id=session.id,
    )
    return row is None


async def _take_over(transaction: Transaction, session: CodeSession, event: HookEvent) -> None:
    """Pass earlier questions on to a session that continues. The turn meant to answer them is cut off."""
    if event.source == "clear":
        await _inherit(transaction, session)
    elif event.source == "resume":
        await take_back(transaction, session.id, until_ms=event.happened_ms)


async def _inherit(transaction: Transaction, session: CodeSession) -> None:
    """Move siblings, questions and the thread of a session to the one that follows after `/clear`."""
    for before in (await _in_its_process(transaction, session))[:1]:
        for statement in _INHERITED:
            await transaction.run(statement, old=before.id, new=session.id)
        await take_back(transaction, before.id, until_ms=session.seen_ms)
        await follow(transaction, before.id, session.id)
        await follow_session(transaction, before.id, session.id)


_INHERITED: Final = (
    """
    INSERT INTO session_siblings (session, sibling, named)
    SELECT :new, sibling, named FROM session_siblings WHERE session = :old AND sibling <> :new
    ON CONFLICT (session, sibling) DO NOTHING
    """,
    """
    INSERT INTO session_siblings (session, sibling, named)
    SELECT session, :new, named FROM session_siblings WHERE sibling = :old AND session <> :new
    ON CONFLICT (session, sibling) DO NOTHING
    """,
)


async def _meet(transaction: Transaction, session: CodeSession) -> None:
    if not session.root or not session.host:
        return
    rows = await transaction.rows(
        "SELECT session, sibling FROM session_siblings WHERE session = :id OR sibling = :id", id=session.id
    )
    known = {(row["session"], row["sibling"]) for row in rows}
    for other in await _siblings(transaction, session):
        for one, two in ((session, other), (other, session)):
            if two.shown_to(one.person) and (one.id, two.id) not in known:
                await transaction.insert("session_siblings", session=one.id, sibling=two.id)


async def _siblings(transaction: Transaction, session: CodeSession) -> list[CodeSession]:
    rows = await transaction.rows(
        """
        SELECT * FROM sessions WHERE state <> 'gone' AND id <> :id AND workspace = :workspace
          AND host = :host AND root = :root AND branch = :branch ORDER BY name
        """,
        id=session.id,
        workspace=session.workspace,
        host=session.host,
        root=session.root,
        branch=session.branch,
    )
    return [read_session(row) for row in rows]


async def _to_name(transaction: Transaction, session: CodeSession) -> tuple[CodeSession, ...]:
    """Return the living siblings that the session doesn't know yet, and mark them as known."""
    rows = await transaction.rows(
        """
        UPDATE session_siblings SET named = 1 WHERE session = :id AND named = 0
          AND sibling IN (SELECT id FROM sessions WHERE state <> 'gone') RETURNING sibling
        """,
        id=session.id,
    )
    fresh = {row["sibling"] for row in rows}
    if not fresh:
        return ()
    siblings = await _siblings(transaction, session)
    return tuple(one for one in siblings if one.id in fresh and one.shown_to(session.person))  # it may be hidden now


async def end_session(transaction: Transaction, id_: str, reason: str, at_ms: int) -> None:
    await transaction.run(
        "UPDATE sessions SET state = 'gone', reason = :reason, ended_ms = :at WHERE id = :id AND state <> 'gone'",
        id=id_,
        reason=reason,
        at=at_ms,
    )


async def _store(transaction: Transaction, session: CodeSession) -> None:
    values = {name: getattr(session, name) for name in _FIELDS}
    await transaction.insert("sessions", _STORED_AGAIN, **values)


def read_session(row: sqlite3.Row) -> CodeSession:
    values = {name: row[name] for name in _FIELDS}
    values["visibility"] = Visibility(row["visibility"])
    values["state"] = SessionState(row["state"])
    values["wakes"] = bool(row["wakes"])
    values["attended"] = None if row["attended"] is None else bool(row["attended"])
    return CodeSession(**values)
