"""Opens the SDK's client for one server, with an eye on the connection's end and an ear for what the server complains.

The SDK is heavy and imported here alone, when the first server is connected.
"""

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from daemon.tools.mcp.server_config import HttpServer, Server, StdioServer

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client import Transport
    from mcp.client._transport import ReadStream, TransportStreams  # the SDK has no public name for them
    from mcp.shared.message import SessionMessage

    Received = ReadStream[SessionMessage | Exception]

_CHUNK = 4096
_KEPT_CHUNKS = 4


class Complaints:
    """The end of what a program wrote to its standard error while it started; a few kilobytes of it at most."""

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque(maxlen=_KEPT_CHUNKS)
        self._muted = False

    @property
    def text(self) -> str:
        """What was heard last."""
        return b"".join(self._chunks).decode("utf-8", "replace")

    def mute(self) -> None:
        """Forget what was heard and hear no more: a server at work may quote what people gave it to do."""
        self._muted = True
        self._chunks.clear()

    @contextmanager
    def listen(self) -> Iterator[TextIO]:
        """A file for a program to write to; it never fills up, whatever the program does."""
        ear, mouth = os.pipe()
        os.set_blocking(ear, False)
        loop = asyncio.get_running_loop()
        loop.add_reader(ear, self._hear, ear)
        try:
            with os.fdopen(mouth, "w") as stream:
                yield stream
        finally:
            loop.remove_reader(ear)
            self._hear(ear)  # a program's last words come just before its end
            os.close(ear)

    def _hear(self, ear: int) -> None:
        with suppress(BlockingIOError):
            chunk = os.read(ear, _CHUNK)
            if not self._muted:
                self._chunks.append(chunk)


@asynccontextmanager
async def open_client(server: Server, ended: asyncio.Event, complaints: Complaints) -> "AsyncIterator[Client]":
    """Connect and shake hands; `ended` is set once nothing can come from the server any more.

    Enter and leave it in the same task. Leaving ends the program that was started, with all its children. Raises
    whatever the SDK, the system and the network raise.
    """
    from mcp import Client, Implementation

    async with AsyncExitStack() as stack:
        if isinstance(server, StdioServer):
            transport = _program(server, stack.enter_context(complaints.listen()))
        else:
            transport = await _address(server, stack)
        client = Client(
            _watched(transport, ended),
            client_info=Implementation(name="soul-daemon", version="1"),
            cache=None,  # a listing is asked for when we want a fresh one
        )
        yield await stack.enter_async_context(client)


def _program(server: StdioServer, complaints: TextIO) -> "Transport":
    from mcp import StdioServerParameters, stdio_client

    parameters = StdioServerParameters(
        command=server.command, args=list(server.args), env=dict(server.env), cwd=server.cwd
    )
    return stdio_client(parameters, errlog=complaints)


async def _address(server: HttpServer, stack: AsyncExitStack) -> "Transport":
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    limits = httpx2.Timeout(server.timeout, read=None)  # a call's own limit is watched on our clock
    http = await stack.enter_async_context(httpx2.AsyncClient(headers=server.headers, timeout=limits))
    return streamable_http_client(server.url, http_client=http)


@asynccontextmanager
async def _watched(transport: "Transport", ended: asyncio.Event) -> "AsyncIterator[TransportStreams]":
    async with transport as (incoming, outgoing):
        yield _Incoming(incoming, ended), outgoing


class _Incoming:
    """What comes from a server, as the SDK's own stream gives it; tells when there will be no more."""

    def __init__(self, stream: "Received", ended: asyncio.Event) -> None:
        self._stream = stream
        self._ended = ended

    @property
    def last_context(self) -> object:
        """In what context the newest message was sent, where the transport knows."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> "SessionMessage | Exception":
        return await anext(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> "SessionMessage | Exception":
        try:
            return await anext(self._stream)
        except BaseException:
            self._ended.set()
            raise

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
