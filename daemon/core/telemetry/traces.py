"""OpenTelemetry traces for other programs: a span for each cycle and each model call, without users' words."""

import hashlib
import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.trace import NonRecordingSpan, SpanContext, Status, StatusCode, TraceFlags, set_span_in_context

from daemon.core.lru import Lru

_CYCLES: Final = ("cycle.committed", "cycle.failed")
_CALL: Final = "step.completed"
_MOST_OPEN: Final = 1_000  # cycles whose beginning is kept, at most
_NS: Final = 1_000_000  # in a millisecond
_CLOSING: Final = 3.0  # seconds; the exporter alone waits ten for each batch of a hanging collector, thirty in all
_ATTRIBUTES: Final[Mapping[str, str]] = {
    "provider": "gen_ai.provider.name",
    "model": "gen_ai.request.model",
    "tokens_in": "gen_ai.usage.input_tokens",
    "tokens_out": "gen_ai.usage.output_tokens",
    "tokens_cached": "gen_ai.usage.cache_read.input_tokens",
    "step": "soul.step",
    "role": "soul.role",
    "outcome": "soul.outcome",
    "cost_usd": "soul.cost_usd",
    "repair": "soul.repair",
    "conversation": "soul.conversation",
    "process": "soul.process",
    "parts": "soul.parts",
    "kind": "error.type",
}
"""The exported fields of an event, and their attribute names."""


class Traces:
    """The sink that makes spans of events; implements `Emit`. A thread of the exporter sends the spans in batches."""

    def __init__(self, exporter: SpanExporter, now_ns: Callable[[], int], version: str) -> None:
        self._now_ns, self._exporter = now_ns, exporter
        self._ids = _Ids()
        resource = Resource({"service.name": "soul-daemon", "service.version": version})
        self._provider = TracerProvider(resource=resource, id_generator=self._ids, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("soul-daemon", version)
        self._begun = Lru[str, int](_MOST_OPEN)

    def __call__(self, event: str, /, **fields: object) -> None:
        """Make a span of an event that ends one. Never raises: an event that makes no valid span is lost."""
        trace = fields.get("trace")
        if not isinstance(trace, str) or not trace:
            return
        with suppress(Exception):  # a field that fits no span must not stop the caller
            if event == _CALL:
                self._call(trace, fields)
            elif event in _CYCLES:
                self._cycle(trace, event, fields)

    def close(self) -> None:
        """Send the remaining spans. Those that the collector doesn't take within three seconds are lost."""
        sending = threading.Thread(target=self._send_the_rest, name="traces", daemon=True)
        sending.start()
        sending.join(_CLOSING)
        self._exporter.shutdown()

    def _send_the_rest(self) -> None:
        with suppress(Exception):  # the exporter is not ours, and the daemon ends anyhow
            self._provider.shutdown()

    def _call(self, trace: str, fields: Mapping[str, object]) -> None:
        end = self._now_ns()
        took = fields.get("duration_ms")
        start = end - (int(took) * _NS if isinstance(took, int | float) else 0)
        self._begun[trace] = min(start, self._begun.get(trace, start))
        root = SpanContext(_trace_id(trace), _span_id(trace), is_remote=False, trace_flags=TraceFlags(1))
        span = self._tracer.start_span(
            f"chat {fields.get('model', '')}",
            set_span_in_context(NonRecordingSpan(root)),
            start_time=start,
            attributes={"gen_ai.operation.name": "chat", **_attributes(fields)},
        )
        if fields.get("outcome") != "ok":
            span.set_status(Status(StatusCode.ERROR))
        span.end(end)

    def _cycle(self, trace: str, event: str, fields: Mapping[str, object]) -> None:
        end = self._now_ns()
        self._ids.next_root = trace
        start = self._begun.pop(trace, end)
        span = self._tracer.start_span("cycle", start_time=start, attributes=_attributes(fields))
        if event != _CYCLES[0]:
            span.set_status(Status(StatusCode.ERROR))
        span.end(end)


class _Ids(IdGenerator):
    """The generator that derives a cycle's span id from its trace id: spans that end earlier can then name it."""

    def __init__(self) -> None:
        self._random = RandomIdGenerator()
        self.next_root = ""

    def generate_trace_id(self) -> int:
        return _trace_id(self.next_root)

    def generate_span_id(self) -> int:
        name, self.next_root = self.next_root, ""
        return _span_id(name) if name else self._random.generate_span_id()


def open_traces(url: str, headers: str, now_ns: Callable[[], int], version: str) -> Traces:
    """Return traces that go to an address. `headers` are `name=value` with commas."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    # A collector that is away would cause a traceback a minute; only the spans are lost.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    pairs = (one.partition("=") for one in headers.split(",") if "=" in one)
    return Traces(
        OTLPSpanExporter(url, headers={name.strip(): value.strip() for name, _, value in pairs}), now_ns, version
    )


def _attributes(fields: Mapping[str, object]) -> dict[str, str | int | float | bool]:
    return {
        _ATTRIBUTES[name]: str(value) if isinstance(value, str) else value
        for name, value in fields.items()
        if name in _ATTRIBUTES and isinstance(value, str | int | float | bool)
    }


def _trace_id(trace: str) -> int:
    return int.from_bytes(hashlib.sha256(trace.encode()).digest()[:16], "big") or 1


def _span_id(trace: str) -> int:
    return int.from_bytes(hashlib.sha256(f"cycle {trace}".encode()).digest()[:8], "big") or 1
