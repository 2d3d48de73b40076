"""The app's sockets (Slack: Socket Mode): tickets, frames, and envelopes with retries (Slack: Events API)."""

import asyncio
import itertools
import json
import secrets
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from aiohttp import WSMsgType, web
from msgspec.structs import replace

from daemon.core.value import Value
from daemon.local_slack.clock import WorkspaceClock
from daemon.local_slack.faults import Faults
from daemon.local_slack.feed import Feed
from daemon.local_slack.model import Json

MAX_SOCKETS: Final = 10
_TICKET_LIFE: Final = 60.0
_LEAVING_LIFE: Final = 10.0
_PING_EVERY: Final = 30.0
_CONNECTION_LIFE: Final = 18_060
_KEPT: Final = 50_000


class _Close(Value):
    code: int


class _Ping(Value):
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
        hello = {
            "type": "hello",
            "num_connections": len(self._open),
            "connection_info": {"app_id": self._app_id},
            "debug_info": {"host": "local", "build_number": 1, "approximate_connection_time": _CONNECTION_LIFE},
        }
        socket.send(json.dumps(hello))
        if self._faults.spend("greet"):
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


class Retries(Value):
    """The seconds before a retry: `deadline` fails an attempt, `schedule` delays the next."""

    deadline: float = 3.0
    schedule: tuple[float, ...] = (0.0, 60.0, 300.0)


class DeliveryAttempt(Value):
    """One attempt to deliver an envelope. Times are workspace seconds, and `socket` is 0 if none was open."""

    envelope_id: str
    event_id: str
    type: str
    event_type: str
    attempt: int
    reason: str
    socket: int
    sent_at: float
    acked_at: float | None = None
    ack_payload: Json | None = None


@dataclass(slots=True)
class _Outgoing:
    kind: str
    payload: Json
    on_ack: Callable[[Json | None], None] | None = None
    acknowledged: bool = False
    envelopes: list[str] = field(default_factory=list)


class Deliveries:
    """The delivery of envelopes, with retries of unacknowledged events, and a log of every attempt."""

    def __init__(
        self, sockets: AppSockets, clock: WorkspaceClock, faults: Faults, feed: Feed, retries: Retries
    ) -> None:
        self._sockets = sockets
        self._clock = clock
        self._faults = faults
        self._feed = feed
        self._retries = retries
        self._log: dict[str, DeliveryAttempt] = {}
        self._waiting: dict[str, _Outgoing] = {}
        self._events: dict[str, Json] = {}
        sockets.acknowledge = self._acknowledge

    @property
    def log(self) -> tuple[DeliveryAttempt, ...]:
        return tuple(self._log.values())

    def event(self, payload: Json) -> str:
        """Send an events_api payload until it is acknowledged or the schedule ends. Return its event id."""
        self._events[payload["event_id"]] = payload
        if len(self._events) > _KEPT:
            del self._events[next(iter(self._events))]
        self._attempt(_Outgoing("events_api", payload))
        if self._faults.spend("duplicate"):
            self._attempt(_Outgoing("events_api", payload))
        return str(payload["event_id"])

    def repeat(self, event_id: str) -> bool:
        """Deliver an earlier event again, with its event id in a new envelope. Return False for an unknown event."""
        payload = self._events.get(event_id)
        if payload is not None:
            self._attempt(_Outgoing("events_api", payload))
        return payload is not None

    def once(self, kind: str, payload: Json, on_ack: Callable[[Json | None], None] | None = None) -> bool:
        """Send an `interactive` or `slash_commands` payload without retries. Return False if no socket is open."""
        return self._attempt(_Outgoing(kind, payload, on_ack))

    def raw(self, envelope: Json) -> bool:
        """Send a given envelope unchanged. Return False if no socket is open."""
        socket = self._sockets.pick()
        if socket is None:
            return False
        self._send(envelope, socket)
        return True

    def _attempt(self, outgoing: _Outgoing, attempt: int = 0, reason: str = "") -> bool:
        envelope_id = str(uuid.uuid4())
        retried = outgoing.kind == "events_api"
        envelope: Json = {
            "type": outgoing.kind,
            "envelope_id": envelope_id,
            "payload": outgoing.payload,
            "accepts_response_payload": not retried,
            **({"retry_attempt": attempt, "retry_reason": reason} if retried else {}),
        }
        outgoing.envelopes.append(envelope_id)
        self._waiting[envelope_id] = outgoing
        socket = self._sockets.pick()
        self._send(envelope, socket)
        if socket is None:
            self._failed(outgoing, attempt, "connection_failed")
            return False
        self._clock.after(self._retries.deadline, lambda: self._failed(outgoing, attempt, "timeout"))
        return True

    def _send(self, envelope: Json, socket: AppSocket | None) -> None:
        """Log an attempt to deliver an envelope, and send it if a socket is open."""
        payload = found if isinstance(found := envelope.get("payload"), dict) else {}
        event = found if isinstance(found := payload.get("event"), dict) else payload
        delivery = DeliveryAttempt(
            str(envelope.get("envelope_id", "")),
            str(payload.get("event_id", "")),
            str(envelope.get("type", "")),
            str(event.get("type", "")),
            int(envelope.get("retry_attempt", 0)),
            str(envelope.get("retry_reason", "")),
            socket.number if socket else 0,
            self._clock.now(),
        )
        self._log[delivery.envelope_id] = delivery
        if len(self._log) > _KEPT:
            del self._log[next(iter(self._log))]
        shown = {"envelope_id": delivery.envelope_id, "event_id": delivery.event_id, "attempt": delivery.attempt}
        self._feed.publish("delivery", shown, internal=True)
        if socket is not None:
            socket.send(json.dumps(envelope))

    def _failed(self, outgoing: _Outgoing, attempt: int, reason: str) -> None:
        if outgoing.acknowledged:
            return
        if outgoing.kind != "events_api" or attempt >= len(self._retries.schedule):
            self._clock.after(self._retries.deadline, lambda: self._forget(outgoing))
            return

        def again() -> None:
            if not outgoing.acknowledged:
                self._attempt(outgoing, attempt + 1, reason)

        self._clock.after(self._retries.schedule[attempt], again)

    def _acknowledge(self, envelope_id: str, payload: Json | None) -> None:
        if self._faults.spend("ignore_acks"):
            return
        delivery = self._log.get(envelope_id)
        if delivery is None or delivery.acked_at is not None:
            return
        self._log[envelope_id] = replace(delivery, acked_at=self._clock.now(), ack_payload=payload)
        self._feed.publish("acknowledged", {"envelope_id": envelope_id, "event_id": delivery.event_id}, internal=True)
        outgoing = self._waiting.get(envelope_id)
        if outgoing is not None and not outgoing.acknowledged:
            outgoing.acknowledged = True
            self._forget(outgoing)
            if outgoing.on_ack is not None:
                outgoing.on_ack(payload)

    def _forget(self, outgoing: _Outgoing) -> None:
        for envelope_id in outgoing.envelopes:
            self._waiting.pop(envelope_id, None)
