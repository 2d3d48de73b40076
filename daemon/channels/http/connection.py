"""One connection of a client: unreadable requests get an error in our form, and a handler can see its client leave.

Anybody who reaches the port may connect, so connections are bounded: there are never so many that the daemon runs out
of file descriptors, and one that asks nothing is closed.
"""

import asyncio
import resource
from collections.abc import Callable
from typing import Final

from aiohttp import web
from aiohttp.web_request import BaseRequest

from daemon.channels.http.errors import Refusal, as_response, crashed
from daemon.core.ports.telemetry import Emit

_READABLE: Final = "send HTTP/1.1, with an address and headers of less than 8 KiB each in ASCII"
_IDLE: Final = 75.0  # seconds after which an idle connection is closed


_FIRST_REQUEST: Final = 8.0  # seconds within which a client has to send its first one
_MOST: Final = 128  # connections
_SHARE: Final = 4  # of the file descriptors that the process may have, one in so many is for connections


def connections(server: web.Server, emit: Emit) -> Callable[[], asyncio.Protocol]:
    """What makes the connections of a server; where there are too many, the oldest idle one is closed."""
    opened: dict[_Connection, None] = {}  # in the order in which they came
    most = min(_MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // _SHARE)
    return lambda: _Connection(server, emit, opened, most)


def client_left(request: web.Request) -> asyncio.Event:
    """Is set once the connection of a request has ended."""
    connection = request.protocol
    assert isinstance(connection, _Connection)  # the server makes no others
    return connection.left


class _Connection(web.RequestHandler):
    """aiohttp's connection, except that even an unreadable request gets an error in our form without a server name."""

    __slots__ = ("_emit", "_first", "_most", "_opened", "left")

    def __init__(self, server: web.Server, emit: Emit, opened: "dict[_Connection, None]", most: int) -> None:
        # Compressed bodies are refused by their header; unpacking them first would only meet faults or bombs.
        loop = asyncio.get_running_loop()
        super().__init__(server, loop=loop, access_log=None, keepalive_timeout=_IDLE, auto_decompress=False)  # type: ignore[arg-type]  # None switches it off
        self._emit, self._opened, self._most = emit, opened, most
        self._first: asyncio.TimerHandle | None = None
        self.left = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Make room for the client, or close the connection where all others are in use."""
        super().connection_made(transport)
        if len(self._opened) >= self._most:
            idle = next((one for one in self._opened if one.is_idle), self)
            self._emit("http.crowded", most=self._most)
            idle.force_close()
            self._opened.pop(idle, None)
            if idle is self:
                return
        self._opened[self] = None
        self._first = asyncio.get_running_loop().call_later(_FIRST_REQUEST, self._close_silent)

    @property
    def is_idle(self) -> bool:
        """Whether it waits for its client's next request."""
        return not self._request_in_progress

    def _close_silent(self) -> None:
        if not self._request_count:
            self.force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        """The client has left."""
        self.left.set()
        self._opened.pop(self, None)
        if self._first is not None:
            self._first.cancel()
        super().connection_lost(exc)

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The response to a request that reached no handler; closes the connection."""
        if request.writer.output_size > 0:
            raise ConnectionError("the response has begun and can't be taken back")
        if status < 500:  # noqa: PLR2004  # the client's fault
            self._emit("http.malformed", status=status)
            refusal = Refusal(status, "malformed", "This is no readable HTTP request.", _READABLE)
        else:
            self._emit("http.crashed", error=exc)
            refusal = crashed()
        response = as_response(refusal)
        response.headers["Server"] = ""  # when it is missing, aiohttp adds its own name
        response.force_close()
        return response
