"""The HTTP server: address, connections, errors as uniform responses, and the routes of its health."""

import asyncio
import errno
import resource
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler
from aiohttp.web_request import BaseRequest
from pydantic import Field

from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.http.request import (
    LARGEST,
    Auth,
    Refusal,
    ResponseModel,
    Scope,
    as_response,
    crashed,
    of_daemon,
    of_http,
)
from daemon.channels.http.routes import ServedRoute, route, routes_of
from daemon.core.errors import ConfigError, DaemonError, StoreError
from daemon.core.http import is_loopback
from daemon.core.ports.services import Emit
from daemon.core.telemetry.metrics import CONTENT_TYPE, Metrics

_SHUTDOWN: Final = 2.0  # seconds that open streams get for their last event
_READY_WITHIN: Final = 2.0  # seconds; a readiness probe must not hang
_UNAVAILABLE: Final = 503
_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class Alive(ResponseModel):
    """The state of the daemon."""

    status: str = Field(description="alive or ready.")


class DaemonPages:
    """The handlers of health and metrics. `description` makes the OpenAPI document. Raise Refusal and StoreError."""

    def __init__(self, side: DaemonSide, metrics: Metrics, description: Callable[[], Mapping[str, object]]) -> None:
        self._side = side
        self._metrics = metrics
        self._description = description

    @route("GET", "/healthz", {200: "It is alive."}, scope=Scope.FREE)
    async def health(self) -> Alive:
        """Check that the daemon is alive.

        The process runs and answers.
        """
        return Alive(status="alive")

    @route("GET", "/readyz", {200: "It can work."}, {503: "It can't; the message says why."}, scope=Scope.FREE)
    async def readiness(self) -> Alive:
        """Check that the daemon can work.

        Ready means that it is connected and its database answers. Otherwise the message says why, without names.
        """
        try:
            async with asyncio.timeout(_READY_WITHIN):
                reasons = await self._side.unready()
        except (StoreError, TimeoutError):
            reasons = ("the database does not answer",)
        if reasons:
            raise Refusal(503, "not_ready", "; ".join(reasons), "", {"Retry-After": "5"})
        return Alive(status="ready")

    @route("GET", "/metrics", {200: "The metrics."}, kind="text/plain")
    async def metrics(self) -> web.Response:
        """Read the metrics.

        Counters and gauges for Prometheus.
        """
        body = self._metrics.expose(await self._side.queues())
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})

    @route("GET", "/openapi.json", {200: "The description."}, scope=Scope.FREE)
    async def description(self) -> web.Response:
        """Read the description of all routes.

        OpenAPI 3.1.
        """
        return web.json_response(self._description())


class ApiServer:
    """A server of pages on one address. `auth` checks their requests."""

    def __init__(self, pages: Iterable[object], host: str, auth: Auth, metrics: Metrics, emit: Emit) -> None:
        self._host = host
        self._metrics = metrics
        self._emit = emit
        app = web.Application(client_max_size=LARGEST, middlewares=[self._count, auth.check])
        for page in pages:
            for one in routes_of(type(page)):
                app.router.add_route(one.method, one.pattern, ServedRoute(one, page, auth).answer)
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


_READABLE: Final = "send HTTP/1.1, with an address and headers of less than 8 KiB each in ASCII"
_IDLE: Final = 75.0  # seconds after which an idle connection is closed


_FIRST_REQUEST: Final = 8.0  # seconds within which a client has to send its first request
_MOST: Final = 128  # connections
_SHARE: Final = 4  # one in so many of the process's file descriptors is for connections


def connections(server: web.Server, emit: Emit) -> Callable[[], asyncio.Protocol]:
    """Return the factory of a server's connections. At the limit the oldest idle connection is closed."""
    opened: dict[_Connection, None] = {}  # in the order of their opening
    most = min(_MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // _SHARE)
    return lambda: _Connection(server, emit, opened, most)


def client_left(request: web.Request) -> asyncio.Event:
    """Return the event that is set once the connection of a request has ended."""
    connection = request.protocol
    assert isinstance(connection, _Connection)  # the server makes this kind only
    return connection.left


class _Connection(web.RequestHandler):
    """aiohttp's connection, with errors in our form even for unreadable requests, and without a server name."""

    __slots__ = ("_emit", "_first", "_most", "_opened", "left")

    def __init__(self, server: web.Server, emit: Emit, opened: "dict[_Connection, None]", most: int) -> None:
        # Compressed bodies are refused by their header. Unpacking them first would only allow errors and zip bombs.
        loop = asyncio.get_running_loop()
        super().__init__(server, loop=loop, access_log=None, keepalive_timeout=_IDLE, auto_decompress=False)  # type: ignore[arg-type]  # None switches it off
        self._emit, self._opened, self._most = emit, opened, most
        self._first: asyncio.TimerHandle | None = None
        self.left = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Make room for the client, or close the connection if all others are in use."""
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
        return not self._request_in_progress

    def _close_silent(self) -> None:
        if not self._request_count:
            self.force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Record that the client has left."""
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
        """Return the response to a request that reached no handler, and close the connection."""
        if request.writer.output_size > 0:
            raise ConnectionError("the response has begun and can't be taken back")
        if status < 500:  # noqa: PLR2004  # the client's fault
            self._emit("http.malformed", status=status)
            refusal = Refusal(status, "malformed", "This is no readable HTTP request.", _READABLE)
        else:
            self._emit("http.crashed", error=exc)
            refusal = crashed()
        response = as_response(refusal)
        response.headers["Server"] = ""  # without this header aiohttp adds its own name
        response.force_close()
        return response
