"""The recorded tools of MCP servers and the sources of events, as an admin changes them."""

import secrets

from msgspec.structs import replace

from daemon.core.errors import StoreError
from daemon.core.sensing import NAME, ROOM, EventSource, Signing
from daemon.memory.audit import AuditedChanges, one_write
from daemon.memory.database import Database, Transaction
from daemon.memory.records import Row, read_row
from daemon.memory.shared.contexts import workspace_of_file


async def recorded_tools(database: Database) -> list[Row]:
    """Return all recorded tools, the changed ones first.

    `changed_ms` is the time since which the offered description differs from the accepted one.
    """
    rows = await database.rows(
        "SELECT * FROM tools ORDER BY CASE WHEN changed_ms IS NULL THEN 1 ELSE 0 END, soul, name"
    )
    return [{**dict(row), "writes": bool(row["writes"])} for row in rows]


class ToolAdmin(AuditedChanges):
    @one_write
    async def accept(self, transaction: Transaction, name: str) -> int:
        """Accept a tool's current description. Return the number of souls that have it. Raises StoreError for none."""
        rows = await transaction.rows(
            "UPDATE tools SET accepted = offered, changed_ms = NULL WHERE name = :name RETURNING name", name=name
        )
        if not rows:
            raise StoreError(f"no tool {name!r} is known", hint="soul tools list shows the names")
        await self._record(transaction, "tool.accepted", name)
        return len(rows)


_ALL = """
    SELECT s.*, (SELECT count(*) FROM source_events e WHERE e.source = s.id) AS events,
           (SELECT max(e.at_ms) FROM source_events e WHERE e.source = s.id) AS heard_ms
    FROM event_sources s
"""


class EventSourceAdmin(AuditedChanges):
    @one_write
    async def add(
        self, transaction: Transaction, name: str, room: str, *, soul: str, signing: Signing, wakes: bool
    ) -> EventSource:
        """Add a source. Raises StoreError for an invalid name or room, and for a name in use."""
        if not NAME.fullmatch(name):
            raise StoreError(f"{name[:40]!r} can't be a source's name", hint="use up to 32 of a-z, 0-9, - and _")
        if not ROOM.fullmatch(room):
            hint = "Slack shows the id at the end of a channel's details, as C012ABC; #name needs SLACK_BOT_TOKEN"
            raise StoreError(f"{room[:40]!r} is no id of a channel", hint=hint)
        workspace = await workspace_of_file(transaction)
        if not workspace:
            raise StoreError("memory.db knows no workspace yet", hint="start the daemon once with `soul run`")
        if await transaction.one("SELECT 1 FROM event_sources WHERE name = :name AND ended_ms IS NULL", name=name):
            raise StoreError(f"there is a source {name} already", hint=f"`soul events end {name}` ends it")
        now = self._clock.now_ms()
        made = EventSource(secrets.token_hex(4), name, soul, workspace, room, signing, wakes, now)
        await transaction.insert(
            "event_sources",
            id=made.id,
            name=name,
            soul=soul,
            workspace=workspace,
            room=room,
            signing=signing,
            wakes=wakes,
            created_ms=now,
        )
        await self._record(transaction, "add event source", made.id, f"{name} in {room} for {soul}")
        return made

    async def list(self) -> tuple[EventSource, ...]:
        """Return all sources, newest first, including ended ones. Raises StoreError."""
        rows = await self._database.rows(f"{_ALL} ORDER BY s.created_ms DESC, s.id")
        return tuple(read_row(EventSource, row, signing=Signing, wakes=bool) for row in rows)

    @one_write
    async def end(self, transaction: Transaction, name: str) -> EventSource:
        """End the source of this name at once: waiting events are dismissed. Raises StoreError if there is none."""
        now = self._clock.now_ms()
        row = await transaction.one(f"{_ALL} WHERE s.name = :name AND s.ended_ms IS NULL", name=name)
        if row is None:
            raise StoreError(f"there is no source {name[:40]}", hint="see `soul events list`")
        found = read_row(EventSource, row, signing=Signing, wakes=bool)
        await transaction.run("UPDATE event_sources SET ended_ms = :now WHERE id = :id", now=now, id=found.id)
        await self._record(transaction, "end event source", found.id, name)
        return replace(found, ended_ms=now)
