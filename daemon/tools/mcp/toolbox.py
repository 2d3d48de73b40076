"""The toolbox: every tool of every server that the admin named, through the official SDK of the Model Context Protocol.

A server that is broken or gone never stops the daemon or another server. With no list of servers nothing is loaded.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from daemon.core.concurrency import alongside
from daemon.core.errors import ToolFailed
from daemon.core.ports import Clock, Emit, Passage, Tool, Toolbox
from daemon.tools.mcp.clean_text import one_line
from daemon.tools.mcp.connection import ServerConnection
from daemon.tools.mcp.server_config import read_servers


class McpToolbox:
    """The tools of several servers, each known as `server/tool`; implements `Toolbox`."""

    def __init__(self, connections: Sequence[ServerConnection], emit: Emit) -> None:
        self._connections: Mapping[str, ServerConnection] = {one.name: one for one in connections}
        self._emit = emit

    async def tools(self) -> tuple[Tool, ...]:
        """What can be used just now, in the order of the list of servers."""
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(one.tools()) for one in self._connections.values()]
        return tuple(tool for offered in asked for tool in offered.result())

    async def use(self, name: str, arguments: Mapping[str, object]) -> Passage:
        """Use one tool once; its output is data from outside. Raises ToolFailed."""
        connection = self._connections.get(name.partition("/")[0])
        if connection is None:
            raise ToolFailed(f"there is no tool {one_line(name, 200)!r}", hint="use a name from the list of tools")
        try:
            text = await connection.call(name, arguments)
        except ToolFailed as failure:
            outcome = "uncertain" if failure.uncertain else "failed"
            self._emit("tools.used", tool=one_line(name, 200), outcome=outcome)
            raise
        self._emit("tools.used", tool=name, outcome="ok")
        return Passage(name, text)


@asynccontextmanager
async def open_toolbox(path: Path | None, clock: Clock, emit: Emit) -> AsyncIterator[Toolbox]:
    """Connect the servers listed in a file (None: there are none) and stay connected while the body runs.

    Connecting goes on beside the body. The programs that were started are gone when this is left, also on
    cancellation. Raises ConfigError for a faulty list.
    """
    servers = read_servers(path) if path is not None else {}
    connections = [ServerConnection(name, server, clock, emit) for name, server in servers.items()]
    async with alongside(*(one.run() for one in connections)):
        yield McpToolbox(connections, emit)
