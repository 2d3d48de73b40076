"""One Socket Mode connection: the stock client, freed from the states it never leaves (Slack: Socket Mode)."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from slack_bolt.adapter.socket_mode.async_internals import run_async_bolt_app, send_async_response
from slack_bolt.async_app import AsyncApp
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

from daemon.channels.slack.api.client import SlackClient
from daemon.core.ports import Clock, Emit

PING_INTERVAL: Final = 5.0  # seconds; the stock client notices a dead peer after four of them
_STABLE: Final = 30.0  # a connection that lived this long starts the back-off anew
_FIRST_BACKOFF: Final = 1.0
_LONGEST_BACKOFF: Final = 30.0
_TICK: Final = 1.0
_STALE_URL: Final = 3  # ticks without a connection after which an issued URL is thrown away
_SILENT: Final = 15  # ticks without Slack's hello after which a connection is given up
_STUCK: Final = 60  # ticks without a connection after which it is told
_TEARDOWN: Final = 5.0


@dataclass(frozen=True, slots=True)
class Link:
    """Which of the sockets this is, and how it is opened; `ping_interval` in seconds."""

    number: int
    app_token: str
    ping_interval: float = PING_INTERVAL


class _PatientClient(SocketModeClient):
    """The stock client with our own way of asking for a URL: one call through our door, and never in a storm.

    Slack may greet every connection with `too_many_websockets` or `link_disabled`; the stock client then asks for the
    next URL at once, hundreds of times a second. Here each request that follows a short-lived connection waits twice as
    long as the one before.
    """

    def __init__(self, client: SlackClient, link: Link, clock: Clock, app: AsyncApp) -> None:
        super().__init__(
            app_token=link.app_token, logger=app.logger, web_client=client.web, ping_interval=link.ping_interval
        )
        self.proxy = client.web.proxy  # the SDK reads the environment again; one decision is enough
        self._door = client
        self._clock = clock
        self._asked_at = -_STABLE
        self._backoff = 0.0

    async def issue_new_wss_url(self) -> str:
        """A fresh address for one handshake. Raises NotDelivered or ChannelRefused; the stock loop then tries again."""
        if self._clock.monotonic() - self._asked_at < _STABLE:
            await self._clock.sleep(self._backoff)
            self._backoff = min(max(_FIRST_BACKOFF, self._backoff * 2), _LONGEST_BACKOFF)
        else:
            self._backoff = 0.0
        self._asked_at = self._clock.monotonic()
        answer = await self._door.call("apps.connections.open", token=self.app_token)
        return str(answer.get("url") or "")


class Connection:
    """Keeps one socket open for as long as `keep` runs; `up` is called whenever Slack has said hello on it."""

    def __init__(self, link: Link, app: AsyncApp, client: SlackClient, clock: Clock, emit: Emit) -> None:
        self._number = link.number
        self._app = app
        self._clock = clock
        self._emit = emit
        self._client = _PatientClient(client, link, clock, app)
        self._client.message_listeners.append(self._notice)
        self._client.socket_mode_request_listeners.append(self._handle)
        self._greeted: object = None
        self._alive = False
        self._down_ticks = 0
        self._up: Callable[[Connection], None] = lambda _: None

    @property
    def alive(self) -> bool:
        """Whether Slack said hello on the present socket and answers pings; as of the last second."""
        return self._alive and self._open()

    async def keep(self, up: Callable[["Connection"], None]) -> None:
        """Connect and watch until cancelled; the teardown is bounded."""
        self._up = up
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._client.connect())  # type: ignore[no-untyped-call]  # the SDK's
                while True:
                    await self._clock.sleep(_TICK)
                    await self._look()
        finally:
            self._alive = False
            await self._close()

    def _open(self) -> bool:
        session = self._client.current_session
        return session is not None and not session.closed and self._greeted is session

    async def _look(self) -> None:
        """One second's check of the stock client."""
        connected = await self._client.is_connected()
        self._alive = connected and self._open()
        if self._alive:
            self._down_ticks = 0
            return
        self._down_ticks += 1
        if not connected and self._down_ticks % _STALE_URL == 0:
            self._client.wss_uri = None  # the stock loop tries a refused URL for ever
        if connected and self._down_ticks % _SILENT == 0:
            self._emit("slack.silent", socket=self._number)
            await self._client.disconnect()  # type: ignore[no-untyped-call]  # the SDK's
        if self._down_ticks % _STUCK == 0:
            self._emit("slack.stuck", socket=self._number, down_s=self._down_ticks * _TICK)

    async def _notice(self, _: AsyncBaseSocketModeClient, message: dict[str, Any], __: str | None = None) -> None:
        if message.get("type") == "hello":
            self._greeted = self._client.current_session
            self._alive = True
            self._down_ticks = 0
            self._up(self)

    async def _handle(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        """What Bolt's own handler does with an envelope."""
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
