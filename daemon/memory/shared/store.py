"""The shared contexts of one memory.db and their members. Each call is its own transaction."""

import json
from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import asdict

from daemon.core.contexts import SOULS, ContextState, ContextVersion, JSONObject, Writer, as_stored, checked_key
from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports.arrivals import LARGEST_STATE, Member, MemberTaken, WorkPlace, checked_member
from daemon.core.ports.services import Clock
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
"""The process of members over HTTP, who leave when their lease ends."""

LEASE_MS: Final = 15_000
_SILENT_DAEMON_MS: Final = 60_000  # a daemon of unknown state without heartbeats
_SILENT_PROCESS_MS: Final = 3600_000  # another process of unknown state


class AwarenessStore:
    def __init__(self, database: Database, clock: Clock, workspace: str) -> None:
        self._database = database
        self._clock = clock
        self._workspace = workspace

    @property
    def process(self) -> str:
        return self._database.processes.own

    async def members(self, key: str, reader: Audience) -> list[Member]:
        """Return the members present in a context, by name, with the places that the reader may know.

        The admin may know all places. Raises ContextRefused for an invalid key, and StoreError.
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
        """Set the state of a member over HTTP, for LEASE_MS more. Raises ContextRefused, MemberTaken and StoreError."""
        return await self._set(require_free(key), member, HTTP, state, writer=writer)

    async def set(self, key: str, member: str, process: str, state: JSONObject, *, writer: Writer) -> Member:
        """Set the state of a member that leaves with its process. Raises ContextRefused, MemberTaken and StoreError."""
        return await self._set(require_free(key), member, process, state, writer=writer)

    async def set_soul(self, member: str, process: str, state: JSONObject, places: Sequence[WorkPlace]) -> None:
        """Set a soul's activity and places. Raises MemberTaken and StoreError."""
        everybody = Writer(member, Audience(AudienceKind.WORKSPACE, self._workspace))
        await self._set(SOULS, member, process, state, writer=everybody, places=places)

    async def leave(self, key: str, member: str, process: str) -> None:
        """Remove a member of this process. Raises ContextRefused and StoreError."""
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
        """Return the ended process that holds the name, or ''. Not in a transaction, because it reads files."""
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
        """Return True if a member has left. If its process's state is unknown, its last sign of life decides."""
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
    """The contexts of one memory.db. By default all of a workspace may read them. `awareness` has their members."""

    def __init__(self, database: Database, clock: Clock, workspace: str) -> None:
        self._database = database
        self._clock = clock
        self._workspace = workspace
        self.awareness = AwarenessStore(database, clock, workspace)

    async def get(self, key: str) -> ContextState:
        """Return a context. Raises ContextRefused for an invalid key, and StoreError."""
        return await self._database.read(lambda transaction: read_context(transaction, key, self._workspace))

    async def these(self, keys: Sequence[str]) -> list[ContextState]:
        """Return the contexts of these keys in one read. Raises ContextRefused and StoreError."""

        async def unit(transaction: Transaction) -> list[ContextState]:
            return [await read_context(transaction, key, self._workspace) for key in keys]

        return await self._database.read(unit)

    async def all(self) -> list[ContextState]:
        return await self._database.read(list_contexts)

    async def history(self, key: str, limit: int) -> list[ContextVersion]:
        """Return the newest versions of a context, newest first. Raises ContextRefused and StoreError."""
        return await self._database.read(lambda transaction: context_history(transaction, key, limit))

    async def write(
        self,
        key: str,
        data: JSONObject,
        seen: int | None,
        writer: Writer,
        on_change: Callable[[], None] = lambda: None,
    ) -> ContextState:
        """Store the next version, and call `on_change` if it differs. Raises ContextConflict, ContextRefused."""
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
        """Check a change without writing it. Raises ContextRefused if it isn't allowed now, and StoreError."""

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
        """Set the audience and the writers of a context. Raises ContextRefused and StoreError."""
        now = self._clock.now_ms()
        return await self._database.write(
            lambda transaction: define_context(
                transaction, key, workspace=self._workspace, now=now, audience=audience, writers=writers
            )
        )
