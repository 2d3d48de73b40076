"""One connection of the HTTP door: even what is no HTTP gets an answer in our form, and none that names the server."""

import asyncio
from collections.abc import Callable
from typing import Final

from aiohttp import web
from aiohttp.web_request import BaseRequest

from daemon.channels.http.errors import Refusal, as_answer, crashed
from daemon.core.ports import Emit

_IDLE: Final = 75.0  # seconds after which a connection that asks nothing is closed


def connections(server: web.Server, emit: Emit) -> Callable[[], asyncio.Protocol]:
    """Makes a protocol for each connection, to be given to `loop.create_server`."""
    return lambda: _Connection(server, emit)


class _Connection(web.RequestHandler):
    """aiohttp's own, but for what it says when a request can't even be read."""

    __slots__ = ("_emit",)

    def __init__(self, server: web.Server, emit: Emit) -> None:
        # Compressed bodies are refused by their header; unpacking them first would only find faults or bombs.
        loop = asyncio.get_running_loop()
        super().__init__(server, loop=loop, access_log=None, keepalive_timeout=_IDLE, auto_decompress=False)  # type: ignore[arg-type]  # None switches it off
        self._emit = emit

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to a request that never reached a handler; closes the connection."""
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun; it can't be taken back")
        if status < 500:  # noqa: PLR2004  # their fault, not ours
            self._emit("http.malformed", status=status)
            fault = Refusal(status, "malformed", "This is no HTTP request that can be read.")
        else:
            self._emit("http.crashed", error=exc)
            fault = crashed()
        answer = as_answer(fault)
        answer.headers["Server"] = ""  # left out, aiohttp would put its own name there
        answer.force_close()
        return answer
