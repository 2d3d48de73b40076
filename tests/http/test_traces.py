"""Traces go out as OpenTelemetry: each cycle with its model calls below it, and no word that anybody wrote."""

import asyncio
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from daemon.app.minds import sinks_of
from daemon.core.config import load_settings
from daemon.core.errors import ConfigError
from daemon.core.telemetry.traces import Traces, open_traces
from tests.fakes import TIMEOUT
from tests.loopback import served
from tests.page.loopback_model import loopback_model, tagged
from tests.page.running import running_daemon
from tests.workspace_client import WorkspaceClient

SAID, ANSWERED = "zqcanary asks", "zqcanary answers"


@dataclass
class Collector:
    """What a collector of traces was sent."""

    url: str = ""
    received: list[ExportTraceServiceRequest] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    came: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def spans(self) -> list[Span]:
        return [
            span
            for request in self.received
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    async def take(self, request: web.Request) -> web.Response:
        parsed = ExportTraceServiceRequest()
        parsed.ParseFromString(await request.read())
        self.received.append(parsed)
        self.keys.add(request.headers.get("x-key", ""))
        self.came.set()
        return web.Response(body=b"", content_type="application/x-protobuf")


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    collector, app = Collector(), web.Application()
    app.router.add_post("/v1/traces", collector.take)
    async with served(app) as url:
        collector.url = f"{url}/v1/traces"
        yield collector


def values(span: Span) -> dict[str, object]:
    return {one.key: getattr(one.value, str(one.value.WhichOneof("value"))) for one in span.attributes}


@pytest.mark.slow
@pytest.mark.timeout(TIMEOUT)
async def test_a_reply_is_a_trace_with_its_model_calls_below_it_and_no_word_of_anybody(tmp_path: Path) -> None:
    async with collecting() as collector, loopback_model(lambda _: tagged(ANSWERED)) as model:
        more = {"SOUL_OTLP_URL": collector.url, "SOUL_OTLP_HEADERS": "x-key=open", "SOUL_LEARN_AFTER": "0"}
        async with running_daemon(tmp_path, model.settings | more) as daemon:
            async with WorkspaceClient(daemon.page_url) as people:
                await people.say("ada", "dm", SAID)
                await daemon.until("SELECT count(*) FROM outbox WHERE state = 'sent'")
                await daemon.at_rest()
            assert "opentelemetry" not in daemon.log.read_text(encoding="utf-8")
        spans = collector.spans
    cycles = [span for span in spans if span.name == "cycle" and span.parent_span_id == b""]
    (asked,) = [span for span in spans if values(span).get("soul.step") == "respond"]
    (cycle,) = [span for span in cycles if span.trace_id == asked.trace_id]
    assert asked.parent_span_id == cycle.span_id
    assert cycle.start_time_unix_nano <= asked.start_time_unix_nano <= asked.end_time_unix_nano
    assert asked.end_time_unix_nano <= cycle.end_time_unix_nano
    assert values(asked)["gen_ai.request.model"] == "openai/loopback"
    assert values(asked)["gen_ai.usage.output_tokens"] == len(tagged(ANSWERED)) // 4
    assert str(values(cycle)["soul.conversation"]).startswith("minoan/")
    assert collector.keys == {"open"}
    sent = b"".join(request.SerializeToString() for request in collector.received)
    assert b"zqcanary" not in sent
    assert b"sk-loopback" not in sent


@pytest.mark.slow
@pytest.mark.timeout(TIMEOUT)
async def test_without_a_collector_the_daemon_talks_and_stops_as_always(tmp_path: Path) -> None:
    async with loopback_model(lambda _: tagged(ANSWERED)) as model:
        more = {"SOUL_OTLP_URL": "http://127.0.0.1:9/v1/traces"}
        async with (
            running_daemon(tmp_path, model.settings | more) as daemon,
            WorkspaceClient(daemon.page_url) as people,
        ):
            await people.say("ada", "dm", SAID)
            await daemon.until("SELECT count(*) FROM outbox WHERE state = 'sent'")
        assert "Traceback" not in daemon.log.read_text(encoding="utf-8")


def test_failed_cycles_and_calls_are_errors_what_names_no_trace_is_none_and_what_fits_no_span_stops_nobody() -> None:
    kept = InMemorySpanExporter()
    traces = Traces(kept, lambda: 5_000_000_000, "1")
    traces("daemon.ready")
    traces("step.completed", trace=7, outcome="ok")
    traces("step.completed", trace="t", outcome="malformed", duration_ms=2_000, prompt=SAID, cost_usd=None)
    traces("cycle.failed", trace="t", kind="ModelUnavailable", reason=SAID)
    traces.close()
    call, cycle = kept.get_finished_spans()
    assert [one.status.status_code.value for one in (call, cycle)] == [Status.STATUS_CODE_ERROR] * 2
    assert (call.start_time, cycle.start_time, cycle.end_time) == (3_000_000_000, 3_000_000_000, 5_000_000_000)
    assert call.parent is not None
    assert call.parent.span_id == cycle.context.span_id
    assert SAID not in f"{call.to_json()}{cycle.to_json()}"
    kept = InMemorySpanExporter()
    traces = Traces(kept, lambda: 5_000_000_000, "1")
    traces("step.completed", trace="t", outcome="ok", duration_ms=float("inf"))
    traces("cycle.committed", trace="t")
    traces.close()
    assert [span.name for span in kept.get_finished_spans()] == ["cycle"]


async def test_without_the_extra_a_daemon_that_is_to_send_traces_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    settings = load_settings(home=tmp_path, otlp_url="http://127.0.0.1:9/v1/traces")
    with pytest.raises(ConfigError, match="OpenTelemetry is not installed") as refused:
        async with sinks_of(settings):
            pass
    assert "locks/traces.txt" in refused.value.hint


@pytest.mark.slow
def test_a_collector_that_takes_and_never_answers_holds_up_no_stop() -> None:
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        traces = open_traces(f"http://127.0.0.1:{hanging.getsockname()[1]}/v1/traces", "", time.time_ns, "1")
        for number in range(2_000):  # so many bunches that the exporter alone would try for thirty seconds
            traces("cycle.committed", trace=f"t{number}")
        begun = time.monotonic()
        traces.close()
        assert time.monotonic() - begun < 20
