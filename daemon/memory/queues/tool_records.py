"""Fingerprints of the tools of MCP servers, kept from the first sight in order to notice changes."""

from collections.abc import Collection, Sequence

from daemon.core.ports.library import Tool
from daemon.memory.database import Transaction
from daemon.memory.worker_store import WorkerStore

MOST_OF_A_SERVER = 500
"""The most tools recorded of one server. Each further one counts as changed."""


class StoredTools(WorkerStore):
    """The fingerprints of the tools that one daemon's servers offer, stored for `ToolRecords`."""

    async def changed(self, server: str, offered: Sequence[Tool]) -> Collection[str]:
        """Record what a server offers, and return the names of the tools that differ from what is accepted."""
        rows = await self._database.rows(
            "SELECT name, accepted, offered, writes FROM tools WHERE soul = :soul AND server = :server ORDER BY name",
            soul=self._worker.soul,
            server=server,
        )
        known = {row["name"]: row for row in rows}
        new = [tool.name for tool in offered if tool.name not in known][: max(0, MOST_OF_A_SERVER - len(known))]
        changed = {
            tool.name
            for tool in offered
            if (known[tool.name]["accepted"] != tool.fingerprint if tool.name in known else tool.name not in new)
        }
        different = [
            tool
            for tool in offered
            if tool.name in new
            or (
                (row := known.get(tool.name))
                and (row["offered"], row["writes"]) != (tool.fingerprint, int(tool.writes))
            )
        ]
        if different:
            await self._database.write(lambda it: self._put(it, server, different, changed))
        return changed

    async def _put(
        self, transaction: Transaction, server: str, offered: Sequence[Tool], changed: Collection[str]
    ) -> None:
        now = self._clock.now_ms()
        for tool in offered:
            await transaction.run(
                """
                INSERT INTO tools (soul, server, name, accepted, offered, writes, changed_ms)
                VALUES (:soul, :server, :name, :fingerprint, :fingerprint, :writes, NULL)
                ON CONFLICT (soul, name) DO UPDATE
                SET offered = excluded.offered, writes = excluded.writes, changed_ms = CAST(:changed AS BIGINT)
                """,
                soul=self._worker.soul,
                server=server,
                name=tool.name,
                fingerprint=tool.fingerprint,
                writes=int(tool.writes),
                changed=now if tool.name in changed else None,
            )
