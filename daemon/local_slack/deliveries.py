"""Envelopes to the app: sent to one socket, acknowledged in time or sent again (Slack: Events API)."""

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from daemon.local_slack.clock import WorkspaceClock
from daemon.local_slack.faults import Faults
from daemon.local_slack.feed import Feed
from daemon.local_slack.model import Json
from daemon.local_slack.sockets import Links

_KEPT = 50_000


@dataclass(frozen=True, slots=True)
class Retries:
    """When an unacknowledged event is sent again: `schedule` seconds after each failure; `deadline` to answer."""

    deadline: float = 3.0
    schedule: tuple[float, ...] = (0.0, 60.0, 300.0)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One attempt to hand over an envelope; times in workspace seconds, `socket` 0 when none was open."""

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
    on_ack: Callable[[Json | None], None] | None
    acknowledged: bool = False
    envelopes: list[str] = field(default_factory=list)


class Deliveries:
    """All envelopes and what became of them."""

    def __init__(self, links: Links, clock: WorkspaceClock, faults: Faults, feed: Feed, retries: Retries) -> None:
        self._links = links
        self._clock = clock
        self._faults = faults
        self._feed = feed
        self._retries = retries
        self._log: dict[str, Delivery] = {}
        self._waiting: dict[str, _Outgoing] = {}
        self._events: dict[str, Json] = {}
        links.acknowledge = self._acknowledge

    @property
    def log(self) -> tuple[Delivery, ...]:
        """Every attempt that is still remembered, oldest first."""
        return tuple(self._log.values())

    def event(self, payload: Json) -> str:
        """Send an events_api payload until it is acknowledged or the schedule ends; gives its event id."""
        self._events[payload["event_id"]] = payload
        if len(self._events) > _KEPT:
            del self._events[next(iter(self._events))]
        outgoing = _Outgoing("events_api", payload, None)
        self._attempt(outgoing, 0, "")
        if self._faults.spend("duplicates"):
            self._attempt(_Outgoing("events_api", payload, None), 0, "")
        return str(payload["event_id"])

    def repeat(self, event_id: str) -> bool:
        """Deliver an earlier event once more, with the same event id and a new envelope; false if it is not known."""
        payload = self._events.get(event_id)
        if payload is not None:
            self._attempt(_Outgoing("events_api", payload, None), 0, "")
        return payload is not None

    def once(self, kind: str, payload: Json, on_ack: Callable[[Json | None], None] | None = None) -> bool:
        """Send an `interactive` or `slash_commands` payload, which is never repeated; false without a socket."""
        return self._attempt(_Outgoing(kind, payload, on_ack), 0, "")

    def raw(self, envelope: Json) -> bool:
        """Send an envelope as it is given; false when no socket is open."""
        link = self._links.pick()
        if link is None:
            return False
        kind = str(envelope.get("type", ""))
        payload = envelope.get("payload")
        self._remember(
            Delivery(
                str(envelope.get("envelope_id", "")),
                str(payload.get("event_id", "")) if isinstance(payload, dict) else "",
                kind,
                "",
                int(envelope.get("retry_attempt", 0)),
                str(envelope.get("retry_reason", "")),
                link.number,
                self._clock.now(),
            )
        )
        link.send(json.dumps(envelope))
        return True

    def _attempt(self, outgoing: _Outgoing, attempt: int, reason: str) -> bool:
        envelope_id = str(uuid.uuid4())
        link = self._links.pick()
        event = outgoing.payload.get("event")
        delivery = Delivery(
            envelope_id,
            str(outgoing.payload.get("event_id", "")),
            outgoing.kind,
            str((event if isinstance(event, dict) else outgoing.payload).get("type", "")),
            attempt,
            reason,
            link.number if link else 0,
            self._clock.now(),
        )
        self._remember(delivery)
        outgoing.envelopes.append(envelope_id)
        if link is None:
            self._failed(outgoing, attempt, "connection_failed")
            return False
        self._waiting[envelope_id] = outgoing
        link.send(json.dumps(_envelope(outgoing, delivery)))
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
        self._feed.publish("acknowledged", {"envelope_id": envelope_id, "event_id": delivery.event_id}, operator=True)
        outgoing = self._waiting.get(envelope_id)
        if outgoing is not None and not outgoing.acknowledged:
            outgoing.acknowledged = True
            self._forget(outgoing)
            if outgoing.on_ack is not None:
                outgoing.on_ack(payload)

    def _forget(self, outgoing: _Outgoing) -> None:
        for envelope_id in outgoing.envelopes:
            self._waiting.pop(envelope_id, None)

    def _remember(self, delivery: Delivery) -> None:
        self._log[delivery.envelope_id] = delivery
        if len(self._log) > _KEPT:
            del self._log[next(iter(self._log))]
        self._feed.publish(
            "delivery",
            {"envelope_id": delivery.envelope_id, "event_id": delivery.event_id, "attempt": delivery.attempt},
            operator=True,
        )


def _envelope(outgoing: _Outgoing, delivery: Delivery) -> Json:
    envelope: Json = {
        "type": outgoing.kind,
        "envelope_id": delivery.envelope_id,
        "payload": outgoing.payload,
        "accepts_response_payload": outgoing.kind != "events_api",
    }
    if outgoing.kind == "events_api":
        envelope |= {"retry_attempt": delivery.attempt, "retry_reason": delivery.reason}
    return envelope
