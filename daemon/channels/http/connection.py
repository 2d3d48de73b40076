"""One connection of a client: unreadable requests get an error in our form, and a handler can see its client leave."""

import asyncio
from collections.abc import Callable
from typing import Final

from aiohttp import web
from aiohttp.web_request import BaseRequest

from daemon.channels.http.errors import Refusal, as_response, crashed
from daemon.core.ports.telemetry import Emit

_READABLE: Final = "send HTTP/1.1, with an address and headers of less than 8 KiB each in ASCII"
_IDLE: Final = 75.0  # seconds after which an idle connection is closed


def connections(server: web.Server, emit: Emit) -> Callable[[], asyncio.Protocol]:
    """What makes the connections of a server."""
    return lambda: _Connection(server, emit)


def client_left(request: web.Request) -> asyncio.Event:
    """Is set once the connection of a request has ended."""
    connection = request.protocol
    assert isinstance(connection, _Connection)  # the server makes no others
    return connection.left


class _Connection(web.RequestHandler):
    """aiohttp's connection, except that even an unreadable request gets an error in our form without a server name."""

    __slots__ = ("_emit", "left")

    def __init__(self, server: web.Server, emit: Emit) -> None:
        # Compressed bodies are refused by their header; unpacking them first would only meet faults or bombs.
        loop = asyncio.get_running_loop()
        super().__init__(server, loop=loop, access_log=None, keepalive_timeout=_IDLE, auto_decompress=False)  # type: ignore[arg-type]  # None switches it off
        self._emit = emit
        self.left = asyncio.Event()

    def connection_lost(self, exc: BaseException | None) -> None:
        """The client has left."""
        self.left.set()
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
