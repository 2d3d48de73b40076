"""The shared contexts of one memory.db, for commands, doors and processes: each call is a transaction of its own."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Final

from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports.arrivals import LARGEST_STATE, Member, MemberTaken, WorkPlace, checked_member
from daemon.core.ports.services import Clock
from daemon.core.sensing import SOULS, ContextState, ContextVersion, JSONObject, Writer, as_stored, checked_key
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.queues.claims import holds, is_recent
from daemon.memory.shared.contexts import (
    Change,
    context_history,
    define_context,
    list_contexts,
    read_context,
    require_allowed,
    require_free,
    require_readers,
    write_context,
)

HTTP: Final = "http"
"""The process of members that came over HTTP: they go with their lease."""

LEASE_MS: Final = 15_000
_SILENT_DAEMON_MS: Final = 60_000  # one of which no more can be known, and that beats no more
_SILENT_PROCESS_MS: Final = 3600_000  # one of which no more can be known, and that is no daemon


class AwarenessStore:
    """The members of all contexts of one memory.db."""

    def __init__(self, database: Database, clock: Clock, workspace: str) -> None:
        self._database = database
        self._clock = clock
        self._workspace = workspace

    @property
    def process(self) -> str:
        return self._database.processes.own

    async def members(self, key: str, reader: Audience) -> list[Member]:
        """Those present at a key, by name; of their places those that the reader may know.

        The admin may know all of them. Raises ContextRefused for what is no key, and StoreError.
        """
        rows = await self._database.rows(
            """
            SELECT a.*, p.seen_ms AS beat_ms FROM awareness a LEFT JOIN presence p ON p.id = a.process
            WHERE a.context_key = :key ORDER BY a.member
            """,
            key=checked_key(key),
        )
        return [_member(row, self._known_to(reader)) for row in rows if not self._is_gone(row)]

    async def renew(self, key: str, member: str, state: JSONObject, writer: Writer) -> Member:
        """Set the state of a member over HTTP for LEASE_MS more. Raises ContextRefused, MemberTaken and StoreError."""
        return await self._set(require_free(key), member, HTTP, state, writer=writer)

    async def set(self, key: str, member: str, process: str, state: JSONObject, *, writer: Writer) -> Member:
        """Set the state of a member that goes with its process. Raises ContextRefused, MemberTaken and StoreError."""
        return await self._set(require_free(key), member, process, state, writer=writer)

    async def set_soul(self, member: str, process: str, state: JSONObject, places: Sequence[WorkPlace]) -> None:
        """Say what a soul does, and where. Raises MemberTaken and StoreError."""
        everybody = Writer(member, Audience(AudienceKind.WORKSPACE, self._workspace))
        await self._set(SOULS, member, process, state, writer=everybody, places=places)

    async def leave(self, key: str, member: str, process: str) -> None:
        """A member of this process is present no more. Raises ContextRefused and StoreError."""
        await self._database.run(
            "DELETE FROM awareness WHERE context_key = :key AND member = :member AND process = :process",
            key=checked_key(key),
            member=checked_member(member),
            process=process,
        )

    async def _set(
        self,
        key: str,
        member: str,
        process: str,
        state: JSONObject,
        *,
        writer: Writer,
        places: Sequence[WorkPlace] = (),
    ) -> Member:
        text, now = as_stored(state, LARGEST_STATE), self._clock.now_ms()
        replaced = await self._gone_holder(checked_key(key), checked_member(member))

        async def unit(transaction: Transaction) -> None:
            require_readers(await read_context(transaction, key, self._workspace), writer)
            held = await transaction.one(
                "SELECT process FROM awareness WHERE context_key = :key AND member = :member",
                key=key,
                member=member,
            )
            if held is not None and held["process"] not in {process, replaced}:
                raise MemberTaken(key, member)
            await transaction.insert(
                "awareness",
                """
                ON CONFLICT (context_key, member) DO UPDATE SET process = excluded.process, state = excluded.state,
                  places = excluded.places, seen_ms = excluded.seen_ms, until_ms = excluded.until_ms
                """,
                context_key=key,
                member=member,
                process=process,
                state=text,
                places=json.dumps([asdict(one) for one in places]),
                seen_ms=now,
                until_ms=now + LEASE_MS if process == HTTP else None,
            )

        await self._database.write(unit, passing=True)
        return Member(member, process, state, now)

    async def _gone_holder(self, key: str, member: str) -> str:
        """The process that has the name and is gone; asked before the transaction, since it looks at files."""
        row = await self._database.one(
            """
            SELECT a.*, p.seen_ms AS beat_ms FROM awareness a LEFT JOIN presence p ON p.id = a.process
            WHERE a.context_key = :key AND a.member = :member
            """,
            key=key,
            member=member,
        )
        return str(row["process"]) if row is not None and self._is_gone(row) else ""

    def _is_gone(self, row: sqlite3.Row) -> bool:
        """Whether a member is present no more; where that can't be known, its last sign of life decides."""
        now = self._clock.now_ms()
        if row["until_ms"] is not None:
            return not holds(row["until_ms"], now, LEASE_MS)
        ended = self._database.processes.has_ended(row["process"])
        if ended is not None:
            return ended
        if row["beat_ms"] is not None:
            return not is_recent(row["beat_ms"], now, _SILENT_DAEMON_MS)
        return not is_recent(row["seen_ms"], now, _SILENT_PROCESS_MS)

    def _known_to(self, reader: Audience) -> frozenset[str] | None:
        if reader.kind is AudienceKind.OPERATOR:
            return None
        return frozenset((str(reader), str(Audience(AudienceKind.WORKSPACE, self._workspace))))


def _member(row: sqlite3.Row, known: frozenset[str] | None) -> Member:
    state = json.loads(row["state"])
    where = [one["where"] for one in json.loads(row["places"]) if known is None or one["audience"] in known]
    return Member(row["member"], row["process"], state | ({"where": where} if where else {}), row["seen_ms"])


class ContextStore:
    """Reads and writes contexts whose readers, where nothing else is set, are those of a workspace.

    `awareness` is who is present at them.
    """

    def __init__(self, database: Database, clock: Clock, workspace: str) -> None:
        self._database = database
        self._clock = clock
        self._workspace = workspace
        self.awareness = AwarenessStore(database, clock, workspace)

    async def get(self, key: str) -> ContextState:
        """A context as it is. Raises ContextRefused for what is no key, and StoreError."""
        return await self._database.read(lambda transaction: read_context(transaction, key, self._workspace))

    async def these(self, keys: Sequence[str]) -> list[ContextState]:
        """The contexts under these keys, by one read. Raises ContextRefused and StoreError."""

        async def unit(transaction: Transaction) -> list[ContextState]:
            return [await read_context(transaction, key, self._workspace) for key in keys]

        return await self._database.read(unit)

    async def all(self) -> list[ContextState]:
        """All contexts, by key. Raises StoreError."""
        return await self._database.read(list_contexts)

    async def history(self, key: str, limit: int) -> list[ContextVersion]:
        """The newest versions of a context, newest first. Raises ContextRefused and StoreError."""
        return await self._database.read(lambda transaction: context_history(transaction, key, limit))

    async def write(
        self,
        key: str,
        data: JSONObject,
        seen: int | None,
        writer: Writer,
        on_change: Callable[[], None] = lambda: None,
    ) -> ContextState:
        """Store the next version; `on_change` is called unless the data is the same as before.

        Raises ContextConflict, ContextRefused and StoreError.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> tuple[int, ContextState]:
            before = await read_context(transaction, key, self._workspace)
            return before.version, await write_context(
                transaction, key, data, seen, writer=writer, workspace=self._workspace, now=now
            )

        before, written = await self._database.write(unit)
        if written.version != before:
            on_change()
        return written

    async def require_allowed(self, key: str, change: Change, writer: Writer) -> None:
        """Write nothing. Raises ContextRefused where the change would be refused now, and StoreError."""

        async def unit(transaction: Transaction) -> None:
            found = await read_context(transaction, key, self._workspace)
            await require_allowed(transaction, found, change(found.data), writer)

        await self._database.read(unit)

    async def define(
        self,
        key: str,
        *,
        audience: Audience | None = None,
        writers: Sequence[str] | None = None,
    ) -> ContextState:
        """Set who may read a context and who may write it. Raises ContextRefused and StoreError."""
        now = self._clock.now_ms()
        return await self._database.write(
            lambda transaction: define_context(
                transaction, key, workspace=self._workspace, now=now, audience=audience, writers=writers
            )
        )
