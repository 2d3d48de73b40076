"""The recorded tools of MCP servers, as the admin sees and accepts them."""

import sqlite3
from dataclasses import dataclass

from daemon.core.errors import StoreError
from daemon.memory.audit import AuditedChanges
from daemon.memory.database import Database, Transaction
from daemon.memory.records import read_row


@dataclass(frozen=True, slots=True)
class RecordedTool:
    """A row of `tools`; `changed_ms` is the time since which it says something else of itself than was accepted."""

    soul: str
    server: str
    name: str
    accepted: str
    offered: str
    writes: bool
    changed_ms: int | None

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "RecordedTool":
        """Read a `tools` row."""
        return read_row(cls, row, writes=bool)


async def recorded_tools(database: Database) -> tuple[RecordedTool, ...]:
    """All recorded tools, the changed ones first."""
    rows = await database.rows(
        "SELECT * FROM tools ORDER BY CASE WHEN changed_ms IS NULL THEN 1 ELSE 0 END, soul, name"
    )
    return tuple(map(RecordedTool.from_row, rows))


class ToolAdmin(AuditedChanges):
    """What the admin may change about recorded tools."""

    async def accept(self, name: str) -> int:
        """Accept what a tool says of itself now; gives the number of souls that have it. Raises StoreError for none."""

        async def unit(transaction: Transaction) -> int:
            rows = await transaction.rows(
                "UPDATE tools SET accepted = offered, changed_ms = NULL WHERE name = :name RETURNING name", name=name
            )
            if not rows:
                raise StoreError(f"no tool {name!r} is known", hint="soul tools list shows the names")
            await self._record(transaction, "tool.accepted", name)
            return len(rows)

        return await self._database.write(unit)
