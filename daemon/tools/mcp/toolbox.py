"""The toolbox: every tool of the admin's MCP servers, through the official SDK of the Model Context Protocol."""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from daemon.core.concurrency import alongside, time_limit
from daemon.core.errors import ToolFailed
from daemon.core.last_line import LastLine
from daemon.core.ports.library import Passage, Tool, Toolbox, ToolRecords
from daemon.core.ports.services import Clock, Emit
from daemon.core.telemetry.redaction import Redactor
from daemon.tools.mcp.client import StderrTail, Watch, open_client
from daemon.tools.mcp.server_config import Server, left_out_line, read_offer, read_output, read_servers, short_line

if TYPE_CHECKING:
    from mcp import Client, types


_CONNECTING = 30.0  # seconds for a server to start and list its tools
_FIRST_WAIT = 10.0  # seconds that callers wait for the first attempt to connect
_FRESH = 300.0  # seconds until a list of tools is fetched again
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_STEADY = 60.0  # seconds of connection after which the pause is reset
_MOST_PAGES = 20  # of a list of tools; a faulty server may never end it
_LONGEST_ARGUMENTS = 64_000  # characters, as JSON
_LONGEST_REASON = 400
_LONGEST_STDERR = 200  # characters
_NOT_DONE = frozenset({-32601, -32602})  # unknown method or wrong arguments (JSON-RPC)
_BROKEN_OFF = frozenset({-32000})  # the SDK's code for an ended connection
_SESSION_GONE = "Session terminated"  # the SDK's message when an HTTP server has dropped the session


@dataclass(slots=True)
class _Link:
    client: "Client"
    watch: Watch
    tools: Mapping[str, Tool] = field(default_factory=dict)
    listed: float = 0.0


class ServerConnection:
    """The connection to one server of the list. `run` keeps it connected, `tools` and `call` use it."""

    def __init__(self, name: str, server: Server, clock: Clock, emit: Emit, records: ToolRecords) -> None:
        self.name = name
        self._records = records
        self._changed: frozenset[str] = frozenset()  # the tools that the log has named
        self._left_out = ""  # as last logged
        self._server = server
        self._clock = clock
        self._emit = emit
        self._redact = Redactor(server.secrets)
        self._tried = asyncio.Event()  # the first attempt to connect has ended
        self._link: _Link | None = None

    async def run(self) -> None:
        """Stay connected until cancelled. A failed attempt is logged and repeated, with growing pauses."""
        pause = _FIRST_PAUSE
        while True:
            began, stderr, watch = self._clock.monotonic(), StderrTail(), Watch(self._clock, self._note_junk)
            try:
                await _to_the_end(self._stay_connected(stderr, watch))
                reason = watch.reason or "it ended the connection"
            except Exception as error:  # noqa: BLE001  # every error of the SDK, the system or the network means no connection
                reason = watch.reason or self._reason(error)
            if self._clock.monotonic() - began >= _STEADY:
                pause = _FIRST_PAUSE
            last_line = short_line(self._redact(stderr.text)[-_LONGEST_STDERR:], _LONGEST_STDERR)
            self._emit("tools.server_unreachable", server=self.name, reason=reason, stderr=last_line, again_in=pause)
            self._tried.set()
            await self._clock.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _note_junk(self, lines: int) -> None:
        self._emit("tools.junk_ignored", server=self.name, lines=lines)

    async def _stay_connected(self, stderr: StderrTail, watch: Watch) -> None:
        """Connect, and return when the server ends the connection."""
        async with AsyncExitStack() as stack:
            async with time_limit(self._clock, _CONNECTING):
                link = _Link(await stack.enter_async_context(open_client(self._server, watch, stderr)), watch)
                await self._list(link)
            stderr.mute()
            self._link = link
            self._tried.set()
            self._emit("tools.server_connected", server=self.name, tools=len(link.tools))
            try:
                await watch.ended.wait()
            finally:
                self._link = None

    async def _list(self, link: _Link) -> None:
        found: list[types.Tool] = []
        cursor: str | None = None
        link.watch.malformed.clear()
        for _ in range(_MOST_PAGES):
            page = await link.client.list_tools(cursor=cursor)
            link.watch.flow.answered()
            found += page.tools
            if not (cursor := page.next_cursor):
                break
        offer, left_out = read_offer(self.name, found, self._server)
        if (line := left_out_line({**link.watch.malformed, **left_out})) != self._left_out and line:
            self._emit("tools.offer_refused", server=self.name, tools=line, hint="the server's other tools are used")
        self._left_out = line
        changed = frozenset(await self._records.changed(self.name, offer))
        if changed - self._changed:
            hint = "each use asks for a click until you accept them: soul tools list, soul tools accept TOOL"
            self._emit("tools.offer_lost", server=self.name, changed=", ".join(sorted(changed)), hint=hint)
        self._changed = changed
        link.tools = {tool.name: replace(tool, writes=tool.writes or tool.name in changed) for tool in offer}
        link.listed = self._clock.monotonic()

    @property
    def known(self) -> tuple[Tool, ...]:
        return tuple(self._link.tools.values()) if self._link is not None else ()

    async def tools(self) -> tuple[Tool, ...]:
        """Return the server's tools, or none while it isn't connected."""
        await self._wait_for_the_first_attempt()
        link = self._link
        if link is None:
            return ()
        if self._clock.monotonic() - link.listed >= _FRESH:
            try:
                async with time_limit(self._clock, self._server.timeout):
                    await self._list(link)
            except Exception as error:  # noqa: BLE001  # on any error the earlier list stays in use
                self._emit("tools.listing_stale", server=self.name, reason=self._reason(error))
                link.listed = self._clock.monotonic()
        return tuple(link.tools.values())

    async def call(self, name: str, arguments: Mapping[str, object], fingerprint: str) -> str:
        """Use the tool `name` (`server/tool`) once and return its output, if it still has this fingerprint.

        Raises ToolFailed, which is `uncertain` for a tool that writes, unless an answer shows that nothing was done.
        """
        await self._wait_for_the_first_attempt()
        link = self._link
        if link is None or link.watch.ended.is_set():
            raise ToolFailed(f"the server of {name} can't be reached now", hint="try again in a minute")
        tool = await self._unchanged(link, name, fingerprint)
        given = _plain(name, arguments)
        self._emit("tools.calling", tool=name)
        try:
            async with time_limit(self._clock, self._server.timeout):
                result = await link.client.call_tool(name.removeprefix(f"{self.name}/"), given)
            link.watch.flow.answered()
        except TimeoutError as error:
            raise ToolFailed(
                f"{name} gave no answer within {self._server.timeout:g} seconds",
                hint="ask for less, or raise the server's timeout in its entry",
                uncertain=tool.writes,
            ) from error
        except Exception as error:
            raise self._failure(link, tool, error) from error
        output = self._redact(read_output(result))
        if result.is_error:
            raise ToolFailed(f"{name} failed: {short_line(output, _LONGEST_REASON)}")
        return output

    async def _unchanged(self, link: _Link, name: str, fingerprint: str) -> Tool:
        """Return the tool if its fingerprint is unchanged. For a tool that writes, the list is fetched again.

        Raises ToolFailed.
        """
        tool = link.tools.get(name)
        if tool is None or tool.writes or tool.fingerprint != fingerprint:
            try:
                async with time_limit(self._clock, self._server.timeout):
                    await self._list(link)
            except Exception as error:
                _code(link, error)
                raise ToolFailed(f"{name} was not used: its server doesn't list it: {self._reason(error)}") from error
            tool = link.tools.get(name)
        if tool is None:
            raise ToolFailed(f"there is no tool {short_line(name, 200)!r}", hint="use a name from the list of tools")
        if tool.fingerprint != fingerprint:
            raise ToolFailed(f"{name} was not used: it says something else of itself than when it was chosen")
        return tool

    async def _wait_for_the_first_attempt(self) -> None:
        with suppress(TimeoutError):
            async with time_limit(self._clock, _FIRST_WAIT):
                await self._tried.wait()

    def _failure(self, link: _Link, tool: Tool, error: Exception) -> ToolFailed:
        return ToolFailed(
            f"{tool.name} failed: {self._reason(error)}",
            hint="the log has the state of its server",
            uncertain=_code(link, error) not in _NOT_DONE and tool.writes,
        )

    def _reason(self, error: BaseException) -> str:
        """Return an error's reason on one line, without the server's secrets."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, TimeoutError):
            return "it gave no answer in time"
        if isinstance(error, OSError) and error.strerror:
            return short_line(f"{error.filename or self.name}: {error.strerror}", _LONGEST_REASON)
        return short_line(self._redact(str(error) or type(error).__name__), _LONGEST_REASON)


def _code(link: _Link, error: Exception) -> int:
    from mcp import MCPError

    code = error.code if isinstance(error, MCPError) else 0
    if code in _BROKEN_OFF or _SESSION_GONE in str(error):
        link.watch.ended.set()
    return code


async def _to_the_end(work: Coroutine[object, object, None]) -> None:
    """Run work that must not be cancelled twice: the first cancellation is passed on, later ones wait for the end.

    A second one would interrupt the SDK while it ends a program, which would then go on running. The SDK's own limits
    bound the wait to a few seconds.
    """
    task = asyncio.ensure_future(work)  # in no TaskGroup, which would pass on every cancellation
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # retrieved, since asyncio would log it; the caller was cancelled
        raise


def _plain(name: str, arguments: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments as plain JSON values. Raises ToolFailed for values that are not JSON or too long."""
    try:
        written = json.dumps(dict(arguments), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolFailed(f"the arguments for {name} are not JSON", hint="use texts, numbers, lists, objects") from error
    if len(written) > _LONGEST_ARGUMENTS:
        raise ToolFailed(f"the arguments for {name} are too long", hint=f"at most {_LONGEST_ARGUMENTS} characters")
    plain: dict[str, object] = json.loads(written)
    return plain


class McpToolbox:
    """The `Toolbox` of several servers, with each tool known as `server/tool`. A broken server stops no other."""

    def __init__(self, connections: Sequence[ServerConnection], emit: Emit) -> None:
        self._connections: Mapping[str, ServerConnection] = {one.name: one for one in connections}
        self._emit = emit

    @property
    def known(self) -> tuple[Tool, ...]:
        return tuple(tool for one in self._connections.values() for tool in one.known)

    async def tools(self) -> tuple[Tool, ...]:
        """Return the tools of all connected servers, in the order of the list of servers."""
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(one.tools()) for one in self._connections.values()]
        return tuple(tool for offered in asked for tool in offered.result())

    async def use(self, name: str, arguments: Mapping[str, object], fingerprint: str) -> Passage:
        """Use one tool once, if it still has this fingerprint. Its output is foreign text. Raises ToolFailed."""
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

    `records` remember each tool's fingerprint. The body does not wait for the connections. On exit, also by
    cancellation, every started program is ended. Raises ConfigError for an invalid list.
    """
    servers = read_servers(path) if path is not None else {}
    connections = [ServerConnection(name, server, clock, emit, records) for name, server in servers.items()]
    async with alongside(*(LastLine(clock, emit).keep(f"tools of {one.name}", one.run) for one in connections)):
        yield McpToolbox(connections, emit)
