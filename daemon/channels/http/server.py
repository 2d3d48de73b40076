"""The HTTP server: it binds the address, joins routes and handlers, and turns every error into a uniform response."""

import asyncio
import errno
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from daemon.channels.http.endpoints import Pages
from daemon.channels.http.request import (
    LARGEST,
    Auth,
    OwnerOf,
    Refusal,
    as_response,
    connections,
    crashed,
    of_daemon,
    of_http,
)
from daemon.channels.http.routes import ROUTES
from daemon.core.errors import ConfigError, DaemonError, StoreError
from daemon.core.http import is_loopback
from daemon.core.ports.services import Emit
from daemon.core.telemetry.metrics import Metrics

_SHUTDOWN: Final = 2.0  # seconds that open streams get for their last event
_UNAVAILABLE: Final = 503
_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class ApiServer:
    """A server on one address. Clients may also reach it by other `names`, through a proxy."""

    def __init__(
        self,
        pages: Pages,
        token: str,
        host: str,
        metrics: Metrics,
        emit: Emit,
        *,
        owner_of: OwnerOf,
        names: Iterable[str] = (),
    ) -> None:
        self._host = host
        self._metrics = metrics
        self._emit = emit
        free = frozenset(route.path for route in ROUTES if route.free)
        keyed = frozenset(route.path for route in ROUTES if route.keyed)
        signed = frozenset(route.path for route in ROUTES if route.signed)
        auth = Auth(token, (host, *names), free, keyed, owner_of, signed=signed)
        app = web.Application(client_max_size=LARGEST, middlewares=[self._count, auth.check])
        for route in ROUTES:
            app.router.add_route(route.method, route.pattern, route.handler(pages))
        app.on_response_prepare.append(_set_headers)
        self._runner = web.AppRunner(app, shutdown_timeout=_SHUTDOWN)
        self._server: asyncio.Server | None = None
        self._stopping = False

    async def open(self, port: int, *, instead: Callable[[], Awaitable[bool]]) -> str:
        """Listen, and return the URL without a trailing slash.

        A port that is in use is replaced by a free one if `instead` returns True. Raises ConfigError if no address is
        available, and StoreError.
        """
        await self._runner.setup()
        assert self._runner.server is not None  # set up above
        factory = connections(self._runner.server, self._emit)
        try:
            self._server = await self._bound(factory, port, instead)
        except StoreError:
            await self._runner.cleanup()
            raise
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
            self._emit("http.opened", url=url, note="other machines can reach it; only the token protects it")
        return url

    async def _bound(
        self, factory: Callable[[], asyncio.Protocol], port: int, instead: Callable[[], Awaitable[bool]]
    ) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        try:
            return await loop.create_server(factory, self._host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or not await instead():
                raise
        self._emit("http.port_taken", port=port, note="by another daemon on this memory.db; a free port is taken")
        return await loop.create_server(factory, self._host, 0)

    def stop_listening(self) -> None:
        """Refuse new connections, and new requests on open ones. Responses in progress go on."""
        self._stopping = True
        if self._server is not None:
            self._server.close()
            self._server = None

    async def close(self) -> None:
        self.stop_listening()
        await self._runner.cleanup()

    @web.middleware
    async def _count(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Turn errors into responses and count every response, as the outermost middleware."""
        response = await self._response(request, handler)
        resource = request.match_info.route.resource
        self._metrics.requested(resource.canonical if resource else "unknown", request.method, response.status)
        return response

    async def _response(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self._stopping:
            return as_response(Refusal(503, "stopping", "The daemon is stopping.", "try again", {"Retry-After": "5"}))
        try:
            return await handler(request)
        except Exception as error:  # noqa: BLE001 - one broken request must not stop the daemon; the log has it
            return as_response(self._refusal(error))

    def _refusal(self, error: Exception) -> Refusal:
        match error:
            case Refusal():
                return error
            case web.HTTPException():
                return of_http(error)
            case DaemonError():
                refusal = of_daemon(error)
                if refusal.status == _UNAVAILABLE:  # other refusals are the client's fault
                    self._emit("http.request_failed", reason=error.message, hint=error.hint)
                return refusal
            case ConnectionError() | web.RequestPayloadError():
                self._emit("http.reader_left", reason=type(error).__name__)
                return of_http(web.HTTPBadRequest())
        self._emit("http.crashed", error=error)
        return crashed()


async def _set_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """Set the headers of every response, and remove `Server`, which would name the software."""
    response.headers.popall("Server", None)
    response.headers.update(_HEADERS)
