"""Prometheus metrics: events by name, model calls, HTTP requests, and rows in the queues."""

from collections.abc import Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from daemon.core.ports.services import Emit

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""The content type of `Metrics.expose` (Prometheus: text exposition format)."""

_MOST_NAMES: Final = 500  # bounds memory where a name is made from data
_OTHER: Final = "other"
_ALARMS: Final = "alarms"
_LATENCIES: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0)
_CALL: Final = ("step", "role", "model")


def fanout(*sinks: Emit) -> Emit:
    """Return a sink that passes every event to all of these, in order."""

    def emit(event: str, /, **fields: object) -> None:
        for sink in sinks:
            sink(event, **fields)

    return emit


class Metrics:
    """The counters and gauges in a registry of their own. Implements `daemon.core.ports.services.Emit`.

    Model calls are read from the fields of `step.completed`: step, role, model, outcome, tokens_in, tokens_cached,
    tokens_out, cost_usd, duration_ms. The daemon's state is read from `heartbeat`: connected, active, loop_lag_s.
    Thoughts are read from `thought.kept`: occasion, degraded; skipped ticks from `tick.skipped`: why.
    """

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._events = Counter("soul_events", "Events by name.", ("event",), registry=registry)
        self._calls = Counter("soul_model_calls", "Model calls.", (*_CALL, "outcome"), registry=registry)
        self._tokens = Counter(
            "soul_model_tokens", "Tokens as providers count them.", (*_CALL, "kind"), registry=registry
        )
        self._cost = Counter("soul_model_cost_usd", "US dollars, where prices are known.", _CALL, registry=registry)
        self._latency = Histogram(
            "soul_model_latency_seconds", "Duration of model calls.", _CALL, buckets=_LATENCIES, registry=registry
        )
        self._requests = Counter(
            "soul_http_requests", "HTTP requests.", ("route", "method", "status"), registry=registry
        )
        self._thoughts = Counter(
            "soul_thoughts", "Thoughts, by what they were thought on.", ("occasion", "degraded"), registry=registry
        )
        self._skipped = Counter(
            "soul_ticks_skipped", "Unasked thoughts that could not be thought, by reason.", ("why",), registry=registry
        )
        self._queues = Gauge("soul_queue", "Rows waiting, by queue.", ("queue",), registry=registry)
        self._alarms = Gauge("soul_alarms", "What is wrong now; soul status names it.", registry=registry)
        self._connected = Gauge("soul_connected", "1 while Slack is connected.", registry=registry)
        self._working = Gauge("soul_working", "Conversations, posts and jobs in work.", registry=registry)
        self._lag = Gauge("soul_loop_lag_seconds", "Longest lag of the event loop in ten seconds.", registry=registry)
        self._names: set[tuple[str, ...]] = set()

    def __call__(self, event: str, /, **fields: object) -> None:
        """Count an event. Never raises."""
        try:
            self._events.labels(*self._bounded("event", event)).inc()
            if event == "step.completed":
                self._count_call(fields)
            if event == "heartbeat":
                self._note_heartbeat(fields)
            if event == "thought.kept":
                self._count_thought(fields)
            if event == "tick.skipped":
                self._skipped.labels(*self._bounded("skipped", str(fields.get("why", "")))).inc()
        except Exception:  # noqa: BLE001  # a field that is not countable must not stop the caller
            self._events.labels("metrics.lost").inc()

    def requested(self, route: str, method: str, status: int) -> None:
        """Count an HTTP request. `route` is the path as the route table writes it."""
        self._requests.labels(*self._bounded("request", route, method), str(status)).inc()

    def expose(self, queues: Mapping[str, int]) -> bytes:
        """Return all metrics in Prometheus's text format, with the current queues and number of `alarms`."""
        self._alarms.set(queues.get(_ALARMS, 0))
        for queue, waiting in queues.items():
            if queue != _ALARMS:
                self._queues.labels(queue).set(waiting)
        return generate_latest(self._registry)

    def _count_call(self, fields: Mapping[str, object]) -> None:
        call = self._bounded("call", *(str(fields.get(name, "")) for name in _CALL))
        self._calls.labels(*call, *self._bounded("outcome", str(fields.get("outcome", "")))).inc()
        for kind in ("in", "cached", "out"):
            self._tokens.labels(*call, kind).inc(_amount(fields.get(f"tokens_{kind}")))
        self._cost.labels(*call).inc(_amount(fields.get("cost_usd")))
        self._latency.labels(*call).observe(_amount(fields.get("duration_ms")) / 1000)

    def _count_thought(self, fields: Mapping[str, object]) -> None:
        degraded = "yes" if fields.get("degraded") else "no"
        self._thoughts.labels(*self._bounded("thought", str(fields.get("occasion", "")), degraded)).inc()

    def _note_heartbeat(self, fields: Mapping[str, object]) -> None:
        self._connected.set(_amount(fields.get("connected")))
        self._working.set(_amount(fields.get("active")))
        self._lag.set(_amount(fields.get("loop_lag_s")))

    def _bounded(self, kind: str, *labels: str) -> tuple[str, ...]:
        """Return the labels, or `other` for each of them once there are too many different ones."""
        known = (kind, *labels)
        if known not in self._names and len(self._names) >= _MOST_NAMES:
            return (_OTHER,) * len(labels)
        self._names.add(known)
        return labels


def _amount(value: object) -> float:
    return max(0.0, float(value)) if isinstance(value, int | float) else 0.0
