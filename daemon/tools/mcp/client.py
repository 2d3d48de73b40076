"""The SDK's client for one server, a watch on its connection, and the end of its stderr."""

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from daemon.core.http import UNCOMPRESSED, bound_responses
from daemon.core.ports.services import Clock
from daemon.tools.mcp.lines import Flow, OverlongMessage
from daemon.tools.mcp.program import run_program
from daemon.tools.mcp.server_config import HttpServer, Server, StdioServer, drop_malformed

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client import Transport
    from mcp.client._transport import ReadStream, TransportStreams  # the SDK has no public name for them
    from mcp.shared.message import SessionMessage

    Received = ReadStream[SessionMessage | Exception]

_CHUNK = 4096
_KEPT_CHUNKS = 4
_JUNK_PAUSE = 60.0  # seconds between two log lines about lines that are no messages


class StderrTail:
    """The last few kilobytes that a program wrote to standard error while it started."""

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque(maxlen=_KEPT_CHUNKS)
        self._muted = False

    @property
    def text(self) -> str:
        return b"".join(self._chunks).decode("utf-8", "replace")

    def mute(self) -> None:
        """Drop the text and keep no later one: a server at work may log users' data."""
        self._muted = True
        self._chunks.clear()

    @contextmanager
    def open(self) -> Iterator[TextIO]:
        """Provide a file for a program to write to. It is read all the time, and the program never blocks."""
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        loop = asyncio.get_running_loop()
        loop.add_reader(reader, self._read, reader)
        try:
            with os.fdopen(writer, "w") as stream:
                yield stream
        finally:
            loop.remove_reader(reader)
            self._read(reader)  # a program writes its error just before it ends
            os.close(reader)

    def _read(self, reader: int) -> None:
        with suppress(BlockingIOError):
            chunk = os.read(reader, _CHUNK)
            if not self._muted:
                self._chunks.append(chunk)


@dataclass(slots=True)
class Watch:
    """The watch on a connection: `ended`, the `reason` if we gave it up, and lines that are no messages.

    `version` is the agreed protocol version. `malformed` holds the reasons for unreadable tools. `on_junk` receives the
    number of lines that are no messages, at the first one and then at most once a minute.
    """

    clock: Clock
    on_junk: Callable[[int], None]
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    reason: str = ""
    version: str = ""
    malformed: dict[str, str] = field(default_factory=dict)
    flow: Flow = field(init=False)
    _junk: int = 0
    _next: float = 0.0

    def __post_init__(self) -> None:
        self.flow = Flow(self.clock)

    def chunk(self, size: int) -> None:
        """Count bytes that the server sent. Raises OverlongMessage."""
        try:
            self.flow.add(size=size)
        except OverlongMessage as error:
            self.give_up(str(error))
            raise

    def junk(self) -> None:
        """Count one line that is no message. Raises OverlongMessage."""
        self.flow.add(messages=1)
        self._junk += 1
        if self.clock.monotonic() >= self._next:
            self.on_junk(self._junk)
            self._junk, self._next = 0, self.clock.monotonic() + _JUNK_PAUSE

    def give_up(self, reason: str) -> None:
        """End the connection because of the server's data."""
        self.reason = reason
        self.ended.set()


@asynccontextmanager
async def open_client(server: Server, watch: "Watch", stderr: StderrTail) -> "AsyncIterator[Client]":
    """Connect and shake hands. `watch.ended` is set when the connection has ended.

    Imports the SDK, which is heavy. Enter and leave the context in the same task. Leaving it ends the started program
    with all its children. Raises every error of the SDK, the system and the network unchanged.
    """
    from mcp import Client, Implementation

    async with AsyncExitStack() as stack:
        if isinstance(server, StdioServer):
            transport: Transport = run_program(
                server, stack.enter_context(stderr.open()), watch.chunk, watch.junk, watch.give_up
            )
        else:
            transport = await _address(server, stack, watch)
        client = Client(
            _watched(transport, watch),
            client_info=Implementation(name="soul-daemon", version="1"),
            cache=None,  # `ServerConnection` decides when to list the tools again
        )
        await stack.enter_async_context(client)
        watch.version = client.protocol_version
        yield client


async def _address(server: HttpServer, stack: AsyncExitStack, watch: Watch) -> "Transport":
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    client = httpx2.AsyncClient(
        headers={**server.headers, **UNCOMPRESSED},
        timeout=httpx2.Timeout(server.timeout, read=None),  # `ServerConnection` limits each call on our Clock
        event_hooks={"response": [bound_responses(watch.give_up, on_chunk=watch.chunk, each_event=True)]},
    )
    http = await stack.enter_async_context(client)
    return streamable_http_client(server.url, http_client=http)


@asynccontextmanager
async def _watched(transport: "Transport", watch: Watch) -> "AsyncIterator[TransportStreams]":
    async with transport as (incoming, outgoing):
        yield _Incoming(incoming, watch), outgoing


class _Incoming:
    """The SDK's stream of messages from a server. It notices the end, counts messages, and drops malformed tools."""

    def __init__(self, stream: "Received", watch: Watch) -> None:
        self._stream = stream
        self._watch = watch
        self._ended = watch.ended

    @property
    def last_context(self) -> object:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> "SessionMessage | Exception":
        return await anext(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> "SessionMessage | Exception":
        try:
            message = await anext(self._stream)
            self._watch.flow.add(messages=1)
        except OverlongMessage as error:
            self._watch.give_up(str(error))
            raise StopAsyncIteration from None
        except BaseException:
            self._ended.set()
            raise
        if self._watch.version:
            drop_malformed(message, self._watch.version, self._watch.malformed)
        return message

    async def aclose(self) -> None:
        self._ended.set()
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._ended.set()
        return await self._stream.__aexit__(kind, error, trace)
