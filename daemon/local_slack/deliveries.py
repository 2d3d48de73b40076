"""Sends envelopes to the app, one socket each, and repeats unacknowledged events (Slack: Events API)."""

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from daemon.local_slack.clock import WorkspaceClock
from daemon.local_slack.faults import Faults
from daemon.local_slack.feed import Feed
from daemon.local_slack.model import Json
from daemon.local_slack.sockets import AppSockets

_KEPT = 50_000


@dataclass(frozen=True, slots=True)
class Retries:
    """Seconds before an unacknowledged event is sent again: `deadline` fails an attempt, `schedule` delays the next."""

    deadline: float = 3.0
    schedule: tuple[float, ...] = (0.0, 60.0, 300.0)


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """One attempt to deliver an envelope. Times in workspace seconds; `socket` is 0 when none was open."""

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
    """Sends envelopes, repeats unacknowledged events, and logs every attempt."""

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
        """The newest 50,000 attempts, oldest first."""
        return tuple(self._log.values())

    def event(self, payload: Json) -> str:
        """Send an events_api payload until it is acknowledged or the schedule ends; gives its event id."""
        self._events[payload["event_id"]] = payload
        if len(self._events) > _KEPT:
            del self._events[next(iter(self._events))]
        self._attempt(_Outgoing("events_api", payload))
        if self._faults.spend("duplicates"):
            self._attempt(_Outgoing("events_api", payload))
        return str(payload["event_id"])

    def repeat(self, event_id: str) -> bool:
        """Deliver an earlier event again, with the same event id in a new envelope; false for an unknown event."""
        payload = self._events.get(event_id)
        if payload is not None:
            self._attempt(_Outgoing("events_api", payload))
        return payload is not None

    def once(self, kind: str, payload: Json, on_ack: Callable[[Json | None], None] | None = None) -> bool:
        """Send an `interactive` or `slash_commands` payload once, never again; false when no socket is open."""
        return self._attempt(_Outgoing(kind, payload, on_ack))

    def raw(self, envelope: Json) -> bool:
        """Send a given envelope unchanged; false when no socket is open."""
        socket = self._sockets.pick()
        if socket is None:
            return False
        payload = envelope.get("payload")
        self._remember(
            DeliveryAttempt(
                str(envelope.get("envelope_id", "")),
                str(payload.get("event_id", "")) if isinstance(payload, dict) else "",
                str(envelope.get("type", "")),
                "",
                int(envelope.get("retry_attempt", 0)),
                str(envelope.get("retry_reason", "")),
                socket.number,
                self._clock.now(),
            )
        )
        socket.send(json.dumps(envelope))
        return True

    def _attempt(self, outgoing: _Outgoing, attempt: int = 0, reason: str = "") -> bool:
        envelope_id = str(uuid.uuid4())
        socket = self._sockets.pick()
        event = outgoing.payload.get("event")
        delivery = DeliveryAttempt(
            envelope_id,
            str(outgoing.payload.get("event_id", "")),
            outgoing.kind,
            str((event if isinstance(event, dict) else outgoing.payload).get("type", "")),
            attempt,
            reason,
            socket.number if socket else 0,
            self._clock.now(),
        )
        self._remember(delivery)
        outgoing.envelopes.append(envelope_id)
        if socket is None:
            self._failed(outgoing, attempt, "connection_failed")
            return False
        self._waiting[envelope_id] = outgoing
        socket.send(json.dumps(_envelope(outgoing, delivery)))
        self._clock.after(self._retries.deadline, lambda: self._failed(outgoing, attempt, "timeout"))
        return True

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
        if self._faults.spend("ignored_acks"):
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

    def _remember(self, delivery: DeliveryAttempt) -> None:
        self._log[delivery.envelope_id] = delivery
        if len(self._log) > _KEPT:
            del self._log[next(iter(self._log))]
        self._feed.publish(
            "delivery",
            {"envelope_id": delivery.envelope_id, "event_id": delivery.event_id, "attempt": delivery.attempt},
            internal=True,
        )


def _envelope(outgoing: _Outgoing, delivery: DeliveryAttempt) -> Json:
    envelope: Json = {
        "type": outgoing.kind,
        "envelope_id": delivery.envelope_id,
        "payload": outgoing.payload,
        "accepts_response_payload": outgoing.kind != "events_api",
    }
    if outgoing.kind == "events_api":
        envelope |= {"retry_attempt": delivery.attempt, "retry_reason": delivery.reason}
    return envelope
