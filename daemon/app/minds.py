"""The composition of models, telemetry sinks and embeddings for a daemon."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

import daemon
from daemon.app.side_calls import PaidEmbedder, endpoint_of, side_calls
from daemon.core.config import Settings, environment
from daemon.core.errors import ConfigError
from daemon.core.last_line import Loop
from daemon.core.ports.services import Clock, Emit, SystemClock
from daemon.core.ports.vectors import Embedder, VectorIndex
from daemon.core.systemd import ServiceEnvironment
from daemon.core.telemetry import Telemetry
from daemon.core.telemetry.metrics import Metrics, fanout
from daemon.core.telemetry.redaction import RecentErrors
from daemon.core.value import Value
from daemon.llm.answers import ECHO, find_model
from daemon.llm.embedder import build_embedder
from daemon.llm.router import choose_models
from daemon.memory.database import Database
from daemon.memory.knowledge.ranking import SLOW_S, Meaning
from daemon.memory.retrieval.keeper import IndexParts, VectorKeeper, do_without
from daemon.memory.retrieval.vectors import Vectors
from daemon.mind.extended_steps import STEPS
from daemon.mind.thought_input import Labels
from daemon.soul import Soul

if TYPE_CHECKING:
    from daemon.core.telemetry.traces import Traces

_ADD_KEY = "Set ANTHROPIC_API_KEY=… in .env and start again."


def with_models_of(settings: Settings, soul: Soul) -> Settings:
    """Return the settings with the models named in `soul.toml`. Raises ConfigError."""
    own = {
        "persona_model": soul.models.persona,
        "thinking_model": soul.models.thinking,
        "persona_standby": soul.models.persona_standby,
        "thinking_standby": soul.models.thinking_standby,
    }
    steps = dict(part.partition("=")[::2] for part in settings.step_models) | dict(soul.models.steps)
    require_known(steps, STEPS)
    chosen = {name: model for name, model in own.items() if model}
    return settings.model_copy(update=chosen | {"step_models": tuple(f"{step}={steps[step]}" for step in steps)})


def require_known(steps: Iterable[str], known: Collection[str]) -> None:
    """Raise ConfigError, naming the cognitive steps, for a name that is none of them."""
    for step in steps:
        if step.strip() not in known:
            hint = f"correct SOUL_STEP_MODELS or [models.steps] in soul.toml; there are {', '.join(known)}"
            raise ConfigError(f"there is no cognitive step {step.strip()[:80]!r}", hint=hint)


async def first_mind(settings: Settings, souls: Sequence[Soul], *, may_speak: bool) -> tuple[Settings, str]:
    """Return the settings for the souls' models, and a line about the speaking model; the first soul is the main one.

    If one of them has neither a model nor a key, a model server on this machine is searched. Its model speaks only with
    `may_speak`: the words of a whole workspace go to no program that is not named. Raises ConfigError.
    """
    if not any(_is_mute(settings, soul) for soul in souls):
        return settings, _line(settings, souls[0])
    found = await find_model(settings) if settings.local_models else None
    if found is None:
        looked = " and no model server was found on this machine" if settings.local_models else ""
        silent = f"No model key is set{looked}: a placeholder answers, which only repeats each message. {_ADD_KEY}"
        return settings, silent if _is_mute(settings, souls[0]) else _line(settings, souls[0])
    if not may_speak:
        way = [f"SOUL_PERSONA_MODEL={found.full}"]
        if found.server.url not in {settings.ollama_url, settings.local_url}:
            way.append(f"SOUL_LOCAL_URL={found.server.url}")
        offered = f"{found.where} offers {found.name}: {' and '.join(way)} in .env let it speak."
        return settings, f"No model key is set: a placeholder answers, which only repeats each message. {offered}"
    speaking = found.speaking(settings)
    if not _is_mute(settings, souls[0]):
        return speaking, _line(speaking, souls[0])
    return speaking, f"No model key is set, so {found.name} speaks, which {found.where} offers on this machine."


def _is_mute(settings: Settings, soul: Soul) -> bool:
    return choose_models(with_models_of(settings, soul))[0] == ECHO


def _line(settings: Settings, soul: Soul) -> str:
    persona, thinking = choose_models(with_models_of(settings, soul))
    return f"{persona} speaks, {thinking} thinks."


class Sinks(Value):
    """The sinks of a running daemon. `emit` reaches all of them."""

    emit: Emit
    metrics: Metrics
    troubles: RecentErrors


@asynccontextmanager
async def telemetry_of(settings: Settings) -> AsyncIterator[Telemetry]:
    """Write log lines to stderr at the configured level, including the standard library's logging."""
    journal = ServiceEnvironment.read(environment()).journal_stream
    telemetry = Telemetry(settings.effective_log_level, sys.stderr, settings.secrets, SystemClock(), journal)
    undo = telemetry.install()
    try:
        yield telemetry
    finally:
        undo()


def _traces_of(settings: Settings) -> "Traces":
    """Return the traces for a collector. Raises ConfigError where the extra is not installed."""
    headers = settings.otlp_headers.get_secret_value() if settings.otlp_headers else ""
    try:
        from daemon.core.telemetry.traces import open_traces  # OpenTelemetry is heavy, and rarely used

        return open_traces(settings.otlp_url, headers, time.time_ns, daemon.__version__)
    except ImportError as error:
        hint = (
            "install the extra `traces` (in a checkout: .venv/bin/pip install --no-deps --require-hashes "
            "-r locks/traces.txt), or unset SOUL_OTLP_URL"
        )
        raise ConfigError("SOUL_OTLP_URL is set, but OpenTelemetry is not installed", hint=hint) from error


@asynccontextmanager
async def sinks_of(settings: Settings) -> AsyncIterator[Sinks]:
    """Open all sinks of a running daemon. Pending traces are sent at the end."""
    async with AsyncExitStack() as stack:
        telemetry = await stack.enter_async_context(telemetry_of(settings))
        metrics, troubles = Metrics(), RecentErrors(SystemClock())
        sinks: list[Emit] = [telemetry, metrics, troubles]
        if settings.otlp_url:
            traces = _traces_of(settings)
            stack.push_async_callback(asyncio.to_thread, traces.close)
            sinks.append(traces)
        yield Sinks(fanout(*sinks), metrics, troubles)


_PATIENCE_S: Final = 10.0


class Meanings(Value):
    """The parts of search by meaning. Both are None with `SOUL_EMBEDDER=none`. `keep` runs as long as the daemon."""

    embedder: Embedder | None
    index: VectorIndex | None
    keep: Loop

    @property
    def meaning(self) -> Meaning:
        return Meaning(self.embedder, self.index, SLOW_S)

    @property
    def patient(self) -> Meaning:
        return Meaning(self.embedder, self.index, _PATIENCE_S)


def labels_of(settings: Settings, meanings: Meanings) -> Labels:
    """Build the labels of percepts. They use only the embedder on this machine, and cost no call."""
    return Labels(meanings.embedder if settings.embedder == "local" else None)


def build_meanings(settings: Settings, database: Database, clock: Clock, emit: Emit, stack: AsyncExitStack) -> Meanings:
    """Build the embedder of the settings and an index next to memory.db, closed with the stack. Raises ConfigError."""
    embedder = build_embedder(settings)
    if embedder is None:
        return Meanings(None, None, partial(do_without, database, settings.index_folder, clock))
    to = endpoint_of("embed", settings.embedder_url, settings.embedder_model, by_text=True)
    if settings.embedder == "endpoint" and to is not None:
        embedder = PaidEmbedder(embedder, side_calls(settings, database, clock, emit), to)
    index = Vectors(settings.index_folder, embedder.id, emit)
    stack.push_async_callback(embedder.aclose)
    stack.push_async_callback(index.aclose)
    parts = IndexParts(database, index, settings.index_folder, embedder, clock, emit, settings.chroma_from)
    return Meanings(embedder, index, VectorKeeper(parts).run)
