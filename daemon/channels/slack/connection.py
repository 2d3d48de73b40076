"""The Socket Mode connections of one app: the SDK's client, a watchdog, and the supervisor with the catch-up."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

import aiohttp
from slack_bolt.adapter.socket_mode.async_internals import run_async_bolt_app, send_async_response
from slack_bolt.async_app import AsyncApp
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.payload import is_well_formed
from daemon.core.last_line import LastLine
from daemon.core.ports.services import Clock, Emit
from daemon.core.value import Value

PING_INTERVAL: Final = 5.0  # seconds; the SDK's client notices a dead peer after four of them
_STABLE: Final = 30.0  # seconds; a connection that lived this long resets the back-off
_FIRST_BACKOFF: Final = 1.0
_LONGEST_BACKOFF: Final = 30.0
_TICK: Final = 1.0
_REFUSALS: Final = 6  # refused handshakes in a row after which the pauses grow; fewer are over within a minute
_SILENT: Final = 15  # ticks without Slack's hello after which the connection is closed
_STUCK: Final = 60  # ticks without a connection after which `slack.stuck` is emitted
_TEARDOWN: Final = 5.0
_KIND: Final = 40  # characters of an envelope's type in the log


class SocketOptions(Value):
    """The options of one socket: its number, the app token, and `ping_interval` in seconds."""

    number: int
    app_token: str
    ping_interval: float = PING_INTERVAL


class _BackoffClient(SocketModeClient):
    """The SDK's client, with a back-off between requests for a new URL.

    Slack may close every new connection with `too_many_websockets` or `link_disabled`. The SDK's client then asks for
    the next URL at once, hundreds of times a second. Each request after a short-lived connection waits twice as long as
    the one before.
    """

    def __init__(self, client: SlackClient, options: SocketOptions, clock: Clock, app: AsyncApp) -> None:
        super().__init__(
            app_token=options.app_token, logger=app.logger, web_client=client.web, ping_interval=options.ping_interval
        )
        self.proxy = client.web.proxy  # else the SDK reads the environment again and may decide otherwise
        self._api = client
        self._clock = clock
        self._asked_at = -_STABLE
        self._backoff = 0.0
        self._refusals = 0
        self._session_before: object = None
        handshakes = aiohttp.TraceConfig()
        handshakes.on_request_start.append(self._spend_url)
        handshakes.freeze()
        self.aiohttp_client_session.trace_configs.append(handshakes)

    async def _spend_url(self, *_: object) -> None:
        self.wss_uri = None

    async def issue_new_wss_url(self) -> str:
        """Return a new URL for one handshake. The SDK's loop retries after NotDelivered or ChannelRefused."""
        await self._clock.sleep(self._pause())
        self._asked_at = self._clock.monotonic()
        if url := self._api.take_socket_url():
            return url
        answer = await self._api.call("apps.connections.open", token=self.app_token)
        return str(answer.get("url") or "")

    def _pause(self) -> float:
        """Return the seconds to wait before the next request: longer after each refused or short-lived connection."""
        refused = self._asked_at >= 0 and self._session_before is self.current_session
        self._refusals = self._refusals + 1 if refused else 0
        self._session_before = self.current_session
        if self._clock.monotonic() - self._asked_at >= _STABLE:
            self._backoff = 0.0
            return 0.0
        if 0 < self._refusals <= _REFUSALS:
            return _FIRST_BACKOFF
        pause = self._backoff
        self._backoff = min(max(_FIRST_BACKOFF, pause * 2), _LONGEST_BACKOFF)
        return pause


class Connection:
    """One socket, which stays open while `keep_open` runs."""

    def __init__(self, options: SocketOptions, app: AsyncApp, client: SlackClient, clock: Clock, emit: Emit) -> None:
        self._number = options.number
        self._app = app
        self._clock = clock
        self._emit = emit
        self._new_client = partial(_BackoffClient, client, options, clock, app)
        self._client = self._connected_to_us()
        self._greeted_session: object = None
        self._alive = False
        self._down_ticks = 0
        self._up: Callable[[Connection], None] = lambda _: None

    @property
    def alive(self) -> bool:
        return self._alive and self._open()

    async def keep_open(self, up: Callable[["Connection"], None]) -> None:
        """Connect and reconnect until cancelled. `up` is called after each hello of Slack's."""
        self._up, last_line = up, LastLine(self._clock, self._emit)
        if self._client.closed:  # the SDK's client can't be opened again after `close`
            self._client = self._connected_to_us()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(last_line.keep("socket", self._client.connect))
                await last_line.keep("socket", self._keep_checking)
        finally:
            self._alive = False
            await self._close()

    def _connected_to_us(self) -> _BackoffClient:
        client = self._new_client()
        client.message_listeners.append(self._on_message)
        client.socket_mode_request_listeners.append(self._handle)
        return client

    async def _keep_checking(self) -> None:
        while True:
            await self._clock.sleep(_TICK)
            await self._check()

    def _open(self) -> bool:
        session = self._client.current_session
        return session is not None and not session.closed and self._greeted_session is session

    async def _check(self) -> None:
        """Get the SDK's client out of a state that it never leaves. Called every second."""
        connected = await self._client.is_connected()
        self._alive = connected and self._open()
        if self._alive:
            self._down_ticks = 0
            return
        self._down_ticks += 1
        if connected and self._down_ticks % _SILENT == 0:
            self._emit("slack.silent", socket=self._number)
            await self._client.disconnect()  # type: ignore[no-untyped-call]  # the SDK's
        if self._down_ticks % _STUCK == 0:
            self._emit("slack.stuck", socket=self._number, down_s=self._down_ticks * _TICK)

    async def _on_message(self, _: AsyncBaseSocketModeClient, message: dict[str, Any], __: str | None = None) -> None:
        if message.get("type") == "hello":
            self._greeted_session = self._client.current_session
            self._alive = True
            self._down_ticks = 0
            self._up(self)

    async def _handle(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        """Pass an envelope to Bolt and send its answer, as Bolt's own handler does; malformed ones are acknowledged."""
        if not is_well_formed(request.payload):
            self._emit("slack.malformed", kind=request.type[:_KIND])
            await client.send_socket_mode_response(SocketModeResponse(request.envelope_id))
            return
        started = self._clock.now_ms() / 1000
        await send_async_response(client, request, await run_async_bolt_app(self._app, request), started)

    async def _close(self) -> None:
        client = self._client
        futures = [client.message_processor, client.message_receiver, client.current_session_monitor]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_TEARDOWN):
                await client.close()  # type: ignore[no-untyped-call]  # the SDK's
                waiting = [future for future in futures if future is not None and not future.done()]
                if waiting:
                    await asyncio.wait(waiting)


_CATCH_UP_EVERY: Final = 1800.0  # seconds between two catch-ups even without a known gap (P6); well below stale_after


class Supervisor:
    """The supervisor of all connections of one app and of the catch-up.

    Setting `gap` requests a catch-up: a message may be missing.
    """

    def __init__(
        self,
        connections: tuple[Connection, ...],
        catch_up: Callable[[], Coroutine[object, object, None]],
        clock: Clock,
        emit: Emit,
        gap: asyncio.Event,
    ) -> None:
        self._connections = connections
        self._catch_up = catch_up
        self._clock = clock
        self._emit = emit
        self._gap = gap
        self._disconnected = True

    def healthy(self) -> bool:
        return any(connection.alive for connection in self._connections)

    async def run(self, ready: asyncio.Event) -> None:
        """Keep all connections open until cancelled. `ready` is set at the first hello."""

        def up(connection: Connection) -> None:
            others_alive = any(other.alive for other in self._connections if other is not connection)
            if self._disconnected or not others_alive:
                self._gap.set()  # no socket was open just before this hello
            if self._disconnected:
                self._disconnected = False
                self._emit("slack.connected")
            ready.set()

        keep = LastLine(self._clock, self._emit).keep
        async with asyncio.TaskGroup() as group:
            for connection in self._connections:
                group.create_task(keep("socket", partial(connection.keep_open, up)))
            group.create_task(keep("watch on the sockets", self._watch))
            group.create_task(keep("catch-up", self._fill_gaps))
            group.create_task(keep("hourly catch-up", self._request_catch_ups))

    async def _watch(self) -> None:
        while True:
            await self._clock.sleep(_TICK)
            if not self.healthy() and not self._disconnected:
                self._disconnected = True
                self._emit("slack.lost")

    async def _fill_gaps(self) -> None:
        try:
            await self._catch_up()
        except Exception:
            self._gap.set()  # try again after the pause of the last line
            raise

    async def _request_catch_ups(self) -> None:
        while True:
            await self._clock.sleep(_CATCH_UP_EVERY)
            self._gap.set()
