"""The composition root: the only module that knows every concrete class."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from pydantic import SecretStr

import daemon
from daemon.clock import SystemClock
from daemon.cognition import Mind
from daemon.concurrency import alongside
from daemon.config import ServiceEnvironment, Settings, unknown_settings
from daemon.conversation import ConversationHandler, Patience
from daemon.courier import Courier
from daemon.cycle import SUMMARIZE, House, new_trace, tell_of
from daemon.dispatcher import Bell, Dispatcher
from daemon.errors import DaemonError
from daemon.life import Daemon, beat, learned_before, live, stop_on_signals
from daemon.llm.prices import cost_usd
from daemon.llm.router import build_llm, choose_models
from daemon.memory.jobs import Job
from daemon.memory.store import Store, open_store
from daemon.ports import LLM, Channel, Clock, Emit, LLMCall
from daemon.processes import PROCESSES
from daemon.service import ServiceManager, Watchdog
from daemon.soul import Soul, SoulKeeper, find_souls_directory, load_soul
from daemon.soul_engine import build_prompt, fresh_nonce
from daemon.subprocesses.summarizes_the_conversation import summarizes_the_conversation
from daemon.telemetry import Telemetry

_PLACEHOLDER_PACE = 0.03  # seconds per word, so that people see the placeholder's replies stream


@asynccontextmanager
async def telemetry_of(settings: Settings) -> AsyncIterator[Telemetry]:
    """Log lines on stderr at the level asked for; the standard library's logging goes the same way meanwhile."""
    environment = ServiceEnvironment.read()
    telemetry = Telemetry(
        settings.effective_log_level, sys.stderr, settings.secrets, SystemClock(), environment.journal_stream
    )
    undo = telemetry.install()
    try:
        yield telemetry
    finally:
        undo()


@asynccontextmanager
async def assemble(
    settings: Settings, channel: Channel, clock: Clock, emit: Emit, *, workspace: str, llm: LLM
) -> AsyncIterator[Daemon]:
    """Open memory.db and join all parts around a channel. Raises SoulError or StoreError."""
    souls = SoulKeeper(find_souls_directory(settings.souls_dir, settings.home, settings.name), settings.name, emit)
    bell = Bell()
    async with open_store(
        settings.database_path,
        clock,
        emit,
        soul=settings.name,
        workspace=workspace,
        kind=channel.name,
        version=daemon.__version__,
        lease=settings.lease,
        on_accepted=bell.ring,
    ) as store:
        house = House(
            llm=llm,
            channel=channel,
            clock=clock,
            emit=emit,
            soul=souls.current,
            processes=PROCESSES,
            cost=cost_usd,
            conversations=store.conversations,
            commits=store.commits,
            turns=store.turns,
        )
        patience = Patience(deadline=settings.deadline, lease=settings.lease, stale_after=settings.stale_after)
        courier = Courier(
            store.outbox,
            channel,
            clock,
            emit,
            in_doubt=settings.in_doubt,
            stale_after=settings.stale_after,
            lease=settings.lease,
        )
        dispatcher = Dispatcher(
            store,
            ConversationHandler(house, patience),
            courier,
            lambda job: _do_job(house, store, job),
            clock=clock,
            emit=emit,
            max_cycles=settings.max_cycles,
            bell=bell,
        )
        await store.presence.release_the_dead(settings.in_doubt)
        yield Daemon(settings, clock, emit, channel, store, dispatcher)


async def _do_job(house: House, store: Store, job: Job) -> None:
    """Run the subprocess that a job names; its failure is kept with the job and tried again later."""
    soul, calls = house.soul(), list[LLMCall]()

    def record(call: LLMCall) -> None:
        calls.append(call)
        tell_of(call, house.emit)

    mind = Mind(
        llm=house.llm,
        render=lambda known, step: build_prompt(known, step, budgets=soul.budgets, nonce=fresh_nonce()),
        clock=house.clock,
        record=record,
        cost=house.cost,
        trace_id=new_trace(),
    )
    try:
        assert job.kind == SUMMARIZE  # the schema knows no other kind yet
        await summarizes_the_conversation(mind, store.turns, soul, job.conversation)
    except Exception as error:  # noqa: BLE001 - what is done after a reply must not take the replies down; it is parked
        reason = error.message if isinstance(error, DaemonError) else type(error).__name__
        unexpected = None if isinstance(error, DaemonError) else error
        house.emit("job.failed", kind=job.kind, attempts=job.attempts, reason=reason, error=unexpected)
        await store.jobs.fail(job, reason, tuple(calls))
        return
    await store.jobs.finish(job, tuple(calls))
    house.emit("job.done", kind=job.kind, calls=len(calls))


async def run_daemon(settings: Settings, announce: Callable[[str], None]) -> None:
    """Run until the first SIGTERM or SIGINT has drained the work, or a second one has cut it short.

    Without Slack tokens it starts the embedded workspace and joins that. `announce` takes the few lines meant for a
    person at the terminal. Raises DaemonError: ConfigError for wrong tokens or models, SoulError, StoreError.
    """
    clock, environment = SystemClock(), ServiceEnvironment.read()
    service = ServiceManager(environment.notify_socket)
    async with AsyncExitStack() as stack:
        telemetry = await stack.enter_async_context(telemetry_of(settings))
        telemetry("daemon.starting", version=daemon.__version__, soul=settings.name)
        for strange in unknown_settings():
            telemetry("settings.unknown", note=strange)
        soul = _first_soul(settings)
        settings = _as_the_soul_wishes(settings, soul)
        local = settings.slack_bot_token is None and settings.slack_app_token is None
        if local:
            settings = await _join_local_workspace(settings, soul, stack, announce)
        llm = build_llm(settings, clock, telemetry, pace=_PLACEHOLDER_PACE if local else 0.0)
        stack.push_async_callback(llm.aclose)
        announce(_models_in_words(settings))
        from daemon.channels.slack.channel import SlackChannel

        channel, stop = SlackChannel(settings, clock, telemetry), asyncio.Event()
        stack.push_async_callback(channel.close)
        stack.enter_context(stop_on_signals(stop))
        identity = await learned_before(stop, channel.introduce(), service, clock)
        if identity is None:
            return
        built = await stack.enter_async_context(
            assemble(settings, channel, clock, telemetry, workspace=identity.team, llm=llm)
        )
        await live(built, stop, service, Watchdog(service, environment.watchdog_usec), announce)


async def run_chat(settings: Settings, channel: Channel) -> None:
    """Talk in the terminal: the same cycle on the same store, until the channel's input ends and all is answered."""
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        telemetry = await stack.enter_async_context(telemetry_of(settings))
        settings = _as_the_soul_wishes(settings, _first_soul(settings))
        llm = build_llm(settings, clock, telemetry, pace=_PLACEHOLDER_PACE)
        stack.push_async_callback(llm.aclose)
        built = await stack.enter_async_context(
            assemble(settings, channel, clock, telemetry, workspace=channel.name, llm=llm)
        )
        async with alongside(built.dispatcher.run(), beat(built)):
            await channel.listen(built.store.inbox, asyncio.Event())
            await built.dispatcher.drain(settings.drain)
        await built.store.presence.leave()


def _first_soul(settings: Settings) -> Soul:
    """The soul as it is at the start. Raises SoulError."""
    return load_soul(find_souls_directory(settings.souls_dir, settings.home, settings.name), settings.name)


def _as_the_soul_wishes(settings: Settings, soul: Soul) -> Settings:
    """The settings with the models that the soul asks for instead of the configured ones."""
    wishes = {"persona_model": soul.models.persona, "thinking_model": soul.models.thinking}
    return settings.model_copy(update={name: model for name, model in wishes.items() if model})


async def _join_local_workspace(
    settings: Settings, soul: Soul, stack: AsyncExitStack, announce: Callable[[str], None]
) -> Settings:
    from daemon.workspace.server import serve_workspace

    workspace = await stack.enter_async_context(
        serve_workspace(port=settings.workspace_port, bot_name=soul.display_name)
    )
    announce(f"No Slack tokens are set, so here is a workspace of your own: {workspace.url}")
    return settings.model_copy(
        update={
            "slack_bot_token": SecretStr(workspace.bot_token),
            "slack_app_token": SecretStr(workspace.app_token),
            "slack_api_url": workspace.api_url,
        }
    )


def _models_in_words(settings: Settings) -> str:
    persona, thinking = choose_models(settings)
    if persona.startswith("placeholder/"):
        return (
            "No model key is set: a placeholder answers, which only repeats what it hears. "
            "For a real mind set ANTHROPIC_API_KEY=… in .env and start again."
        )
    return f"Speaking with {persona}, thinking with {thinking}."
