"""Where events go: to the log, to the counts, to what is known of troubles, and to whom traces are sent."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import daemon
from daemon.core.clock import SystemClock
from daemon.core.config import Settings, environment
from daemon.core.ports.telemetry import Emit
from daemon.core.systemd import ServiceEnvironment
from daemon.core.telemetry import Telemetry
from daemon.core.telemetry.metrics import Metrics, fanout
from daemon.core.telemetry.troubles import Troubles


@dataclass(frozen=True, slots=True)
class Sinks:
    """`emit` reaches all of them."""

    emit: Emit
    metrics: Metrics
    troubles: Troubles


@asynccontextmanager
async def telemetry_of(settings: Settings) -> AsyncIterator[Telemetry]:
    """Log lines on stderr at the configured level, those of the standard library's logging among them."""
    journal = ServiceEnvironment.read(environment()).journal_stream
    telemetry = Telemetry(settings.effective_log_level, sys.stderr, settings.secrets, SystemClock(), journal)
    undo = telemetry.install()
    try:
        yield telemetry
    finally:
        undo()


@asynccontextmanager
async def sinks_of(settings: Settings) -> AsyncIterator[Sinks]:
    """All sinks of a running daemon; what waits to be sent goes out at the end."""
    async with AsyncExitStack() as stack:
        telemetry = await stack.enter_async_context(telemetry_of(settings))
        metrics, troubles = Metrics(), Troubles(SystemClock())
        sinks: list[Emit] = [telemetry, metrics, troubles]
        if settings.otlp_url:
            from daemon.core.telemetry.traces import open_traces  # OpenTelemetry is heavy, and most do without

            secret = settings.otlp_headers
            headers = secret.get_secret_value() if secret else ""
            traces = open_traces(settings.otlp_url, headers, time.time_ns, daemon.__version__)
            stack.push_async_callback(asyncio.to_thread, traces.close)
            sinks.append(traces)
        yield Sinks(fanout(*sinks), metrics, troubles)
