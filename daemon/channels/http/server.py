"""The HTTP server itself: binds the address, joins table and handlers, and lets every fault out in one form."""

import asyncio
import errno
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from daemon.channels.http.auth import Guard
from daemon.channels.http.errors import Refusal, as_answer, crashed, of_daemon, of_http
from daemon.channels.http.malformed_requests import connections
from daemon.channels.http.request_body import LARGEST
from daemon.channels.http.routes import ROUTES, Operation
from daemon.core.errors import ConfigError, DaemonError
from daemon.core.network import is_loopback
from daemon.core.ports import Emit
from daemon.core.telemetry.metrics import Metrics

_SHUTDOWN: Final = 2.0  # seconds that streams get to say goodbye
_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

Serve = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Door:
    """A server on one address. `serves` has a handler for every operation."""

    def __init__(self, serves: Mapping[Operation, Serve], token: str, host: str, metrics: Metrics, emit: Emit) -> None:
        self._host = host
        self._metrics = metrics
        self._emit = emit
        guard = Guard(token, host, frozenset(route.path for route in ROUTES if route.free))
        app = web.Application(client_max_size=LARGEST, middlewares=[self._tell, guard.watch])
        for route in ROUTES:
            app.router.add_route(route.method, route.pattern, serves[route.operation])
        app.on_response_prepare.append(_dress)
        self._runner = web.AppRunner(app, shutdown_timeout=_SHUTDOWN)
        self._server: asyncio.Server | None = None
        self._stopping = False

    async def open(self, port: int) -> str:
        """Listen; gives the address as a URL without a trailing slash. Raises ConfigError when the port is taken."""
        await self._runner.setup()
        assert self._runner.server is not None  # set up just now
        factory = connections(self._runner.server, self._emit)
        try:
            self._server = await asyncio.get_running_loop().create_server(factory, self._host, port)
        except OSError as error:
            await self._runner.cleanup()
            if error.errno == errno.EADDRINUSE:
                hint = "set SOUL_HTTP_PORT to another port (0 picks a free one), or SOUL_HTTP=false"
                raise ConfigError(f"port {port} on {self._host} is in use", hint=hint) from error
            hint = "set SOUL_HTTP_HOST to an address of this machine and SOUL_HTTP_PORT to a port that you may use"
            raise ConfigError(f"can't listen on {self._host}:{port}: {error.strerror}", hint=hint) from error
        host, bound = self._server.sockets[0].getsockname()[:2]
        url = f"http://[{host}]:{bound}" if ":" in host else f"http://{host}:{bound}"
        self._emit("http.listening", url=url)
        if not is_loopback(self._host):
            self._emit(
                "http.opened", url=url, note="others than this machine can reach it; the token is all that guards it"
            )
        return url

    def stop_listening(self) -> None:
        """Take no new connections and no more requests on those that are open; answers under way go on."""
        self._stopping = True
        if self._server is not None:
            self._server.close()
            self._server = None

    async def close(self) -> None:
        """End every connection."""
        self.stop_listening()
        await self._runner.cleanup()

    @web.middleware
    async def _tell(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """The outermost middleware: faults become answers, and everything is counted."""
        response = await self._answered(request, handler)
        resource = request.match_info.route.resource
        self._metrics.requested(resource.canonical if resource else "unknown", request.method, response.status)
        return response

    async def _answered(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self._stopping:
            return as_answer(Refusal(503, "stopping", "The daemon is stopping.", "try again", {"Retry-After": "5"}))
        try:
            return await handler(request)
        except Exception as error:  # noqa: BLE001 - one broken request must not take the daemon down; the log has it
            return as_answer(self._fault(error))

    def _fault(self, error: Exception) -> Refusal:
        match error:
            case Refusal():
                return error
            case web.HTTPException():
                return of_http(error)
            case DaemonError():
                self._emit("http.request_failed", reason=error.message, hint=error.hint)
                return of_daemon(error)
            case ConnectionError() | web.RequestPayloadError():
                self._emit("http.reader_left", reason=type(error).__name__)
                return of_http(web.HTTPBadRequest())
        self._emit("http.crashed", error=error)
        return crashed()


async def _dress(_request: web.Request, response: web.StreamResponse) -> None:
    """Headers that every answer has, and no banner that names what runs here."""
    response.headers.popall("Server", None)
    response.headers.update(_HEADERS)
