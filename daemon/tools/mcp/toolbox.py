"""The toolbox: every tool of the admin's MCP servers, through the official SDK of the Model Context Protocol.

A broken server never stops the daemon or another server. Without a list of servers nothing is loaded.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from daemon.core.concurrency import alongside
from daemon.core.errors import ToolFailed
from daemon.core.last_line import LastLine
from daemon.core.ports.clock import Clock
from daemon.core.ports.library import Passage
from daemon.core.ports.telemetry import Emit
from daemon.core.ports.tools import Tool, Toolbox, ToolRecords
from daemon.tools.mcp.clean_text import short_line
from daemon.tools.mcp.connection import ServerConnection
from daemon.tools.mcp.server_config import read_servers


class McpToolbox:
    """The tools of several servers, each known as `server/tool`; implements `Toolbox`."""

    def __init__(self, connections: Sequence[ServerConnection], emit: Emit) -> None:
        self._connections: Mapping[str, ServerConnection] = {one.name: one for one in connections}
        self._emit = emit

    @property
    def known(self) -> tuple[Tool, ...]:
        """The tools that the connected servers listed last; asks no server."""
        return tuple(tool for one in self._connections.values() for tool in one.known)

    async def tools(self) -> tuple[Tool, ...]:
        """The tools of all connected servers, in the order of the list of servers."""
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(one.tools()) for one in self._connections.values()]
        return tuple(tool for offered in asked for tool in offered.result())

    async def use(self, name: str, arguments: Mapping[str, object], fingerprint: str) -> Passage:
        """Use one tool once, if it still has this fingerprint; its output is foreign text. Raises ToolFailed."""
        connection = self._connections.get(name.partition("/")[0])
        if connection is None:
            raise ToolFailed(f"there is no tool {short_line(name, 200)!r}", hint="use a name from the list of tools")
        try:
            text = await connection.call(name, arguments, fingerprint)
        except ToolFailed as failure:
            outcome = "uncertain" if failure.uncertain else "failed"
            self._emit("tools.used", tool=short_line(name, 200), outcome=outcome)
            raise
        self._emit("tools.used", tool=name, outcome="ok")
        return Passage(name, text)


@asynccontextmanager
async def open_toolbox(path: Path | None, clock: Clock, emit: Emit, records: ToolRecords) -> AsyncIterator[Toolbox]:
    """Connect the servers listed in a file (None: no servers) and keep them connected while the body runs.

    `records` remember what each tool says of itself.
    The body does not wait for the connections. On the way out, also by cancellation, every started program is ended.
    Raises ConfigError for an invalid list.
    """
    servers = read_servers(path) if path is not None else {}
    connections = [ServerConnection(name, server, clock, emit, records) for name, server in servers.items()]
    async with alongside(*(LastLine(clock, emit).keep(f"tools of {one.name}", one.run) for one in connections)):
        yield McpToolbox(connections, emit)
