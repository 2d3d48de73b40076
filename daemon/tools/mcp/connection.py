"""One server for as long as the daemon lives: connected in a task of its own, and again after it died, with a pause.

The SDK's client is entered and left by that one task, as anyio's scopes demand; calls are made by whoever calls.
"""

import asyncio
import json
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from daemon.core.concurrency import alongside
from daemon.core.errors import ToolFailed
from daemon.core.ports import Clock, Emit, Tool
from daemon.core.telemetry.redaction import Redactor
from daemon.tools.mcp.clean_text import one_line
from daemon.tools.mcp.client import Complaints, open_client
from daemon.tools.mcp.results import read_offer, read_output
from daemon.tools.mcp.server_config import Server

if TYPE_CHECKING:
    from mcp import Client, types

_CONNECTING = 30.0  # seconds a server has to start and to tell its tools
_PATIENCE = 10.0  # seconds that whoever wants to use a server waits for it to be there for the first time
_FRESH = 300.0  # seconds a list of tools is taken at its word
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_STEADY = 60.0  # seconds after which a connection that breaks is no longer one that keeps breaking
_MOST_PAGES = 20  # of a list of tools; some never end
_LONGEST_ARGUMENTS = 64_000  # characters, as JSON
_LONGEST_REASON = 400
_LAST_WORDS = 200  # characters of a program's standard error
_SURELY_NOT_DONE = frozenset({-32601, -32602})  # no such method, wrong arguments (JSON-RPC)
_BROKEN_OFF = frozenset({-32000})  # the SDK's own code for a connection that ended
_SESSION_GONE = "Session terminated"  # what the SDK says when a server over HTTP has forgotten us


@dataclass(slots=True)
class _Link:
    """A connection that stands, and what can be used over it."""

    client: "Client"
    ended: asyncio.Event
    tools: Mapping[str, Tool] = field(default_factory=dict)
    listed: float = 0.0


class ServerConnection:
    """One server of the list; `run` keeps it connected, the rest uses it."""

    def __init__(self, name: str, server: Server, clock: Clock, emit: Emit) -> None:
        self.name = name
        self._server = server
        self._clock = clock
        self._emit = emit
        self._redact = Redactor(server.secrets)
        self._tried = asyncio.Event()  # connecting has succeeded or failed at least once
        self._link: _Link | None = None

    async def run(self) -> None:
        """Stay connected until cancelled; a server that can't be reached is told and tried again, ever less often."""
        pause = _FIRST_PAUSE
        while True:
            began, complaints = self._clock.monotonic(), Complaints()
            try:
                await _to_the_end(self._stay_connected(complaints))
                reason = "it ended the connection"
            except Exception as error:  # noqa: BLE001  # the SDK, the system, the network: all mean that it isn't there
                reason = self._reason(error)
            if self._clock.monotonic() - began >= _STEADY:
                pause = _FIRST_PAUSE
            stderr = one_line(self._redact(complaints.text)[-_LAST_WORDS:], _LAST_WORDS)
            self._emit("tools.server_unreachable", server=self.name, reason=reason, stderr=stderr, again_in=pause)
            self._tried.set()
            await self._clock.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _stay_connected(self, complaints: Complaints) -> None:
        """Connect, and return when the server has ended the connection."""
        ended = asyncio.Event()
        async with AsyncExitStack() as stack:
            async with alongside(self._alarm(_CONNECTING)):
                link = _Link(await stack.enter_async_context(open_client(self._server, ended, complaints)), ended)
                await self._list(link)
            complaints.mute()
            self._link = link
            self._tried.set()
            self._emit("tools.server_connected", server=self.name, tools=len(link.tools))
            try:
                await ended.wait()
            finally:
                self._link = None

    async def _list(self, link: _Link) -> None:
        """Ask what the server offers."""
        found: list[types.Tool] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await link.client.list_tools(cursor=cursor)
            found += page.tools
            if not (cursor := page.next_cursor):
                break
        offer = read_offer(self.name, found, self._server.reads)
        link.tools, link.listed = {tool.name: tool for tool in offer}, self._clock.monotonic()

    async def tools(self) -> tuple[Tool, ...]:
        """What it offers just now, nothing while it isn't connected."""
        await self._wait_for_the_first_attempt()
        link = self._link
        if link is None:
            return ()
        if self._clock.monotonic() - link.listed >= _FRESH:
            try:
                async with alongside(self._alarm(self._server.timeout)):
                    await self._list(link)
            except Exception as error:  # noqa: BLE001  # whatever it is: what it said before still stands
                self._emit("tools.listing_stale", server=self.name, reason=self._reason(error))
                link.listed = self._clock.monotonic()
        return tuple(link.tools.values())

    async def call(self, name: str, arguments: Mapping[str, object]) -> str:
        """Use the tool `name` (with the server's own in front) once and return its output.

        Raises ToolFailed; `uncertain` when the tool may write and no answer tells that it didn't.
        """
        await self._wait_for_the_first_attempt()
        link = self._link
        if link is None or link.ended.is_set():
            raise ToolFailed(f"the server of {name} can't be reached just now", hint="try again in a minute")
        if (tool := link.tools.get(name)) is None:
            raise ToolFailed(f"there is no tool {one_line(name, 200)!r}", hint="use a name from the list of tools")
        given = _plain(name, arguments)
        try:
            async with alongside(self._alarm(self._server.timeout)):
                result = await link.client.call_tool(name.removeprefix(f"{self.name}/"), given)
        except TimeoutError as error:
            raise ToolFailed(
                f"{name} gave no answer within {self._server.timeout:g} seconds",
                hint="ask for less, or raise the server's timeout in its entry",
                uncertain=tool.writes,
            ) from error
        except Exception as error:
            raise self._failure(link, tool, error) from error
        output = read_output(result)
        if result.is_error:
            raise ToolFailed(f"{name} failed: {one_line(self._redact(output), _LONGEST_REASON)}")
        return output

    async def _wait_for_the_first_attempt(self) -> None:
        """Give a server that is just starting the time that most need, but nobody wants to wait for one that hangs."""
        with suppress(TimeoutError):
            async with alongside(self._alarm(_PATIENCE)):
                await self._tried.wait()

    def _failure(self, link: _Link, tool: Tool, error: Exception) -> ToolFailed:
        """What an exception of the SDK means; a connection that is no good any more is given up."""
        from mcp import MCPError

        code = error.code if isinstance(error, MCPError) else 0
        if code in _BROKEN_OFF or _SESSION_GONE in str(error):
            link.ended.set()
        return ToolFailed(
            f"{tool.name} failed: {self._reason(error)}",
            hint="see the log for the state of its server",
            uncertain=tool.writes and code not in _SURELY_NOT_DONE,
        )

    def _reason(self, error: BaseException) -> str:
        """Why something failed, in one line and without the server's secrets."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, TimeoutError):
            return "it gave no answer in time"
        if isinstance(error, OSError) and error.strerror:
            return one_line(f"{error.filename or self.name}: {error.strerror}", _LONGEST_REASON)
        return one_line(self._redact(str(error) or type(error).__name__), _LONGEST_REASON)

    async def _alarm(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        raise TimeoutError


async def _to_the_end(work: Coroutine[object, object, None]) -> None:
    """Run to the end what must not be cancelled twice: the first cancellation is passed on, others wait for its end.

    A second one would break off the SDK while it ends a program, which then stays behind and is waited for in vain.
    The SDK's own limits bound the wait to a few seconds.
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
            task.exception()  # it counts as seen: whoever cancels doesn't want to know
        raise


def _plain(name: str, arguments: Mapping[str, object]) -> dict[str, object]:
    """Arguments as they can be sent. Raises ToolFailed for what is no JSON, or a book."""
    try:
        written = json.dumps(dict(arguments), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolFailed(f"the arguments for {name} are not JSON", hint="use texts, numbers, lists, objects") from error
    if len(written) > _LONGEST_ARGUMENTS:
        raise ToolFailed(f"the arguments for {name} are too long", hint=f"at most {_LONGEST_ARGUMENTS} characters")
    plain: dict[str, object] = json.loads(written)
    return plain
