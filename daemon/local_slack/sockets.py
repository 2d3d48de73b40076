"""The app's sockets (Slack: Socket Mode): tickets, hello, frames, closing, and the workspace's key."""

import asyncio
import hmac
import itertools
import json
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from aiohttp import WSMsgType, web
from aiohttp.typedefs import Handler

from daemon.local_slack.clock import WorkspaceClock
from daemon.local_slack.faults import Faults
from daemon.local_slack.feed import Feed
from daemon.local_slack.model import Json

MAX_SOCKETS: Final = 10
_TICKET_LIFE: Final = 60.0
_LEAVING_LIFE: Final = 10.0
_PING_EVERY: Final = 30.0
_CONNECTION_LIFE: Final = 18_060


@dataclass(frozen=True, slots=True)
class _Close:
    code: int


@dataclass(frozen=True, slots=True)
class _Ping:
    data: bytes = b""


class AppSocket:
    """One open socket. After a disconnect frame it is `leaving` and gets envelopes only if no other socket is open."""

    def __init__(self, number: int, ws: web.WebSocketResponse, transport: asyncio.Transport | None) -> None:
        self.number = number
        self.leaving = False
        self._ws = ws
        self._transport = transport
        self._frames: asyncio.Queue[str | _Close | _Ping] = asyncio.Queue()

    def send(self, frame: str) -> None:
        self._frames.put_nowait(frame)

    def ping(self) -> None:
        self._frames.put_nowait(_Ping())

    def close(self, code: int) -> None:
        self._frames.put_nowait(_Close(code))

    def reset(self) -> None:
        """Drop the connection at once, without a close frame."""
        if self._transport is not None:
            self._transport.abort()

    async def write(self, faults: Faults) -> None:
        """Send queued frames until the connection ends. While the workspace is silent, drop them."""
        with suppress(ConnectionError):
            while not self._ws.closed:
                frame = await self._frames.get()
                if isinstance(frame, _Close):
                    await self._ws.close(code=frame.code)
                elif faults.silent:
                    continue
                elif isinstance(frame, _Ping):
                    await self._ws.ping(frame.data)
                else:
                    await self._ws.send_str(frame)


class AppSockets:
    """The open sockets of the app, and the tickets that open them."""

    def __init__(self, app_id: str, clock: WorkspaceClock, faults: Faults, feed: Feed) -> None:
        self._app_id = app_id
        self._clock = clock
        self._faults = faults
        self._feed = feed
        self._tickets: dict[str, float] = {}
        self._open: list[AppSocket] = []
        self._numbers = itertools.count(1)
        self._turn = 0
        self.acknowledge: Callable[[str, Json | None], None] = lambda _envelope_id, _payload: None
        self.app_came_or_went: Callable[[bool], None] = lambda _present: None

    @property
    def open(self) -> tuple[AppSocket, ...]:
        return tuple(self._open)

    def issue(self, url: str) -> str:
        """Return a WebSocket URL with a ticket that is valid for one handshake within a minute."""
        ticket = secrets.token_urlsafe(16)
        if not self._faults.spend("dead_tickets"):
            self._tickets[ticket] = self._clock.now() + _TICKET_LIFE
        return f"{url.replace('http', 'ws', 1)}/link/?ticket={ticket}&app_id={self._app_id}"

    def pick(self) -> AppSocket | None:
        """Return the socket for the next envelope, in turn, or None if none is open."""
        staying = [socket for socket in self._open if not socket.leaving] or self._open
        if not staying:
            return None
        self._turn += 1
        return staying[self._turn % len(staying)]

    def disconnect(self, socket: AppSocket, reason: str) -> None:
        """Send a disconnect frame and close the connection ten seconds later, as Slack does."""
        socket.leaving = True
        socket.send(json.dumps({"type": "disconnect", "reason": reason, "debug_info": {"host": "local"}}))
        self._clock.after(_LEAVING_LIFE, lambda: socket.close(1000))

    def close_all(self) -> None:
        """Close every socket at the workspace's end."""
        for socket in self._open:
            socket.close(1001)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serve one handshake and, if its ticket is valid, the connection until it ends."""
        if self._faults.spend("refuse_handshakes"):
            self._publish("refused", 0)
            return web.Response(status=self._faults.refuse_status)
        if self._tickets.pop(request.query.get("ticket", ""), 0.0) <= self._clock.now():
            self._publish("refused", 0)
            return web.Response(status=404, text="the ticket is unknown, used or expired")
        ws = web.WebSocketResponse(autoping=False)
        await ws.prepare(request)
        socket = AppSocket(next(self._numbers), ws, request.transport)
        await self._serve(socket, ws)
        return ws

    async def _serve(self, socket: AppSocket, ws: web.WebSocketResponse) -> None:
        self._open.append(socket)
        self._greet(socket)
        self._publish("opened", socket.number)
        try:
            async with asyncio.TaskGroup() as tasks:
                writer = tasks.create_task(socket.write(self._faults))
                await self._read(ws)
                writer.cancel()
        finally:
            self._open.remove(socket)
            self._publish("closed", socket.number)

    def _greet(self, socket: AppSocket) -> None:
        socket.send(
            json.dumps(
                {
                    "type": "hello",
                    "num_connections": len(self._open),
                    "connection_info": {"app_id": self._app_id},
                    "debug_info": {
                        "host": "local",
                        "build_number": 1,
                        "approximate_connection_time": _CONNECTION_LIFE,
                    },
                }
            )
        )
        if self._faults.spend("greetings"):
            self.disconnect(socket, self._faults.greeting)
        elif len(self._open) > MAX_SOCKETS:
            self.disconnect(socket, "too_many_websockets")
        self._ping_later(socket)

    def _ping_later(self, socket: AppSocket) -> None:
        def ping() -> None:
            if socket in self._open:
                socket.ping()
                self._ping_later(socket)

        self._clock.after(_PING_EVERY, ping)

    async def _read(self, ws: web.WebSocketResponse) -> None:
        async for frame in ws:
            if self._faults.silent:
                continue
            if frame.type is WSMsgType.PING:
                with suppress(ConnectionError):
                    await ws.pong(frame.data)
            elif frame.type is WSMsgType.TEXT:
                self._take(frame.data)

    def _take(self, text: str) -> None:
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            return
        if isinstance(answer, dict) and isinstance(answer.get("envelope_id"), str):
            payload = answer.get("payload")
            self.acknowledge(answer["envelope_id"], payload if isinstance(payload, dict) else None)

    def _publish(self, happened: str, number: int) -> None:
        self._feed.publish("socket", {"happened": happened, "socket": number, "open": len(self._open)}, internal=True)
        self.app_came_or_went(bool(self._open))


_OWN_NAMES: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
_POLICY: Final = "frame-ancestors 'none'; base-uri 'none'; object-src 'none'"
_NO_KEY: Final = "open the address that was printed when the workspace started: it holds the workspace's key"


class Lock:
    """The key of a workspace, sent as a bearer token. Cookies would also go to other programs on this machine."""

    def __init__(self, key: str = "") -> None:
        self.key = key or secrets.token_urlsafe(16)

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse control requests without the key, and any that another web page could have caused."""
        if request.path.startswith("/_control/"):
            if not _is_from_here(request):
                hint = "open the workspace by its own address on this machine, such as http://127.0.0.1:8765/"
                return web.json_response({"ok": False, "error": "not_from_here", "hint": hint}, status=403)
            if not self._opened_by(request):
                return web.json_response({"ok": False, "error": "no_key", "hint": _NO_KEY}, status=403)
        return await handler(request)

    def _opened_by(self, request: web.Request) -> bool:
        return self._is_key(request.headers.get("Authorization", "").removeprefix("Bearer "))

    def _is_key(self, sent: str) -> bool:
        return hmac.compare_digest(sent.encode(), self.key.encode())


async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """Add headers that forbid framing the workspace and hide the server's software."""
    response.headers["Server"] = ""  # when it is missing, aiohttp adds its own name
    response.headers.update(_HEADERS)
    response.headers.setdefault("Content-Security-Policy", _POLICY)


def _is_from_here(request: web.Request) -> bool:
    try:
        host = urlsplit(f"//{request.host}").hostname
        origin = request.headers.get("Origin", "")
        own = host in _OWN_NAMES and (not origin or urlsplit(origin).netloc == request.host)
    except ValueError:
        return False
    return own and request.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")
