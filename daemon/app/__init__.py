"""Who knows everybody? The composition root: settings in, a running daemon out."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace
from pydantic import SecretStr

import daemon
from daemon.app.assembly import assemble, caps_of, souls_of
from daemon.app.http_api import side_of
from daemon.app.lifecycle import Daemon, clock_of, stop_on_signals, unless_stopped
from daemon.app.minds import first_mind, sinks_of, telemetry_of, with_models_of
from daemon.channels.http.channel import HttpChannel
from daemon.channels.terminal import TerminalChannel
from daemon.core.concurrency import alongside, in_background
from daemon.core.config import Settings, environment, unknown_settings
from daemon.core.errors import StoreError
from daemon.core.last_line import every
from daemon.core.ports.channel import Channel
from daemon.core.ports.services import LLM, Clock, Emit, SystemClock
from daemon.core.spending import day_at
from daemon.core.systemd import ServiceEnvironment, ServiceManager, Watchdog
from daemon.core.tempo import DISK, SLACK, alarm_name
from daemon.llm.router import build_llm
from daemon.memory.database import Database
from daemon.memory.queues.alarms import Duty
from daemon.memory.retrieval.keeper import LEAST_ROOM, free_bytes
from daemon.memory.spending.reservations import spent_today
from daemon.runtime.scheduler import EVERY_S, Addressees, AlarmSource, AlarmWatch
from daemon.soul import Soul, Souls

if TYPE_CHECKING:
    from daemon.channels.slack.channel import SlackChannel  # heavy: loaded when a daemon runs in Slack
    from daemon.local_slack.server import WorkspaceServer  # loaded where there are no tokens of Slack


Doctor = Callable[[Settings], Sequence[str]]
"""The function that returns the names of failed checks. It may take long, and runs in a separate thread."""

_NEARLY: Final = 0.95  # of a cap
_DOCTOR_EVERY_S: Final = 3600.0
_GRACE_S: Final = 300.0  # for which a connection may be lost before it is an alarm


def with_alarms(built: Daemon, souls: Souls, doctor: Doctor = lambda _: ()) -> Daemon:
    """Return the daemon with alarms, which its main soul posts.

    A daemon without a channel or an admin to write to leaves the posts to the others.
    """
    settings, store, clock = built.settings, built.store, built.clock
    to = Addressees(settings.ops_channel, settings.who_are_admins, built.channels.main.find_room)
    duty = Duty(store.database, clock, "alarms" if to else "alarms without a reader", every_s=EVERY_S)
    sources: list[AlarmSource] = [
        _from(built.troubles.alarms),
        ConnectionLook(built.channels.main, clock).seen,
        partial(_disk, settings.home),
        store.alarms.given_up,
        partial(_budgets, settings, store.database, clock, souls),
        DoctorLook(partial(doctor, settings), clock).seen,
    ]
    watch = AlarmWatch(store.alarms, sources, to, duty.turn, clock, built.emit, built.dispatcher.look_again)
    return replace(built, chores={**built.chores, "alarms": every(clock, EVERY_S, watch.look)})


def _from(look: Callable[[], Sequence[str]]) -> AlarmSource:
    async def seen() -> Sequence[str]:
        return look()

    return seen


async def _disk(home: Path) -> Sequence[str]:
    """Return the alarm for too little free disk space: the same limit holds for all parts that write."""
    return (DISK,) if await in_background(partial(free_bytes, home)) < LEAST_ROOM else ()


async def _budgets(settings: Settings, database: Database, clock: Clock, souls: Souls) -> Sequence[str]:
    day, found = day_at(clock.now_ms(), settings.cap_zone).date, list[str]()
    for name in souls.names:
        cap = caps_of(settings, souls.current(name)).soul
        if cap and (await spent_today(database, name, day)).left_of(cap) <= cap * (1 - _NEARLY):
            found.append(alarm_name("budget", name))
    return found


@dataclass(eq=False)
class ConnectionLook:
    """The check of the connection: a revoked token is an alarm at once, a lost connection after some minutes."""

    channel: Channel
    clock: Clock
    _lost_at: float | None = None

    async def seen(self) -> Sequence[str]:
        if self.channel.healthy():
            self._lost_at = None
            return (SLACK,) if self.channel.trouble() else ()
        now = self.clock.monotonic()
        self._lost_at = now if self._lost_at is None else self._lost_at
        return (SLACK,) if self.channel.trouble() or now - self._lost_at >= _GRACE_S else ()


class DoctorLook:
    """The checks of `soul doctor` on this machine, run once an hour, and first when the start is over."""

    def __init__(self, doctor: Callable[[], Sequence[str]], clock: Clock) -> None:
        self._doctor = doctor
        self._clock = clock
        self._due = clock.monotonic() + EVERY_S
        self._failing: tuple[str, ...] = ()

    async def seen(self) -> Sequence[str]:
        """Return the checks that failed the last time."""
        if self._clock.monotonic() >= self._due:
            self._due = self._clock.monotonic() + _DOCTOR_EVERY_S
            self._failing = tuple(alarm_name("doctor", name) for name in await in_background(self._doctor))
        return self._failing


_LOOK_S = 0.5
_NO_INPUT = -1  # the file descriptor of a terminal that is never read
_PLACEHOLDER_PACE = 0.03  # seconds per word: users see the placeholder's replies stream


async def run_daemon(settings: Settings, announce: Callable[[str], None], doctor: Doctor = lambda _: ()) -> None:
    """Run until SIGTERM or SIGINT, then drain. A second signal cuts the drain short.

    Without Slack tokens the daemon starts the local workspace, joins it and lives by its clock, which can be moved
    forward. `announce` prints the few lines meant for the admin at the terminal; `doctor` is checked for alarms. Raises
    ConfigError for wrong tokens or models, SoulError and StoreError.
    """
    supervisor = ServiceEnvironment.read(environment())
    service = ServiceManager(supervisor.notify_socket)
    async with AsyncExitStack() as stack:
        sinks = await stack.enter_async_context(sinks_of(settings))
        emit = sinks.emit
        emit("daemon.starting", version=daemon.__version__, soul=settings.name)
        for note in unknown_settings():
            emit("settings.unknown", note=note)
        souls = souls_of(settings, emit)
        soul = souls.current(souls.main)
        local = settings.slack_bot_token is None and settings.slack_app_token is None
        settings, minds = await first_mind(settings, [souls.current(name) for name in souls.names], may_speak=local)
        workspace = await _local_workspace(settings, soul, minds, stack) if local else None
        clock = workspace.clock if workspace else await stack.enter_async_context(clock_of(settings))
        if workspace:
            announce(f"No Slack tokens are set, so here is a workspace of your own: {workspace.page_url}")
            settings = _joining(settings, workspace)
        pace = _PLACEHOLDER_PACE if local else 0.0
        llms = {name: _llm_for(souls.current(name), settings, stack, emit, pace) for name in souls.names}
        announce(minds)
        slack, stop = _slack_for(souls, settings, clock, emit), asyncio.Event()
        stack.push_async_callback(slack.close)
        stack.enter_context(stop_on_signals(stop))
        identity = await unless_stopped(stop, slack.identify(), service, clock)
        if identity is None:
            return
        http = HttpChannel(settings, clock, emit, sinks.metrics)
        stack.push_async_callback(http.close)
        built = await stack.enter_async_context(
            assemble(
                settings,
                slack,
                clock,
                emit,
                workspace=identity.team,
                souls=souls,
                llm_of=llms.__getitem__,
                http=http,
                troubles=sinks.troubles,
                account=identity.user,
                url=lambda: http.url,
            )
        )
        if workspace:  # its clock may have been moved forward in an earlier run, and memory continues from there
            workspace.clock.advance(max(0, await built.store.turns.newest_ms() - clock.now_ms()) / 1000)
        http.connect(side_of(built, souls, identity.team, standing_of=slack.standing_of))
        built = with_alarms(built, souls, doctor)
        await built.live(stop, service, Watchdog(service, supervisor.watchdog_usec), announce)


async def run_chat(settings: Settings, channel: Channel, announce: Callable[[str], None]) -> None:
    """Talk in the terminal, through the same cycle and store, until the channel's input ends and all is answered.

    `announce` prints the speaking model, or that there is none. Raises ConfigError, SoulError and StoreError.
    """
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        telemetry = await stack.enter_async_context(telemetry_of(settings))
        souls = souls_of(settings.model_copy(update={"souls": ()}), telemetry)
        settings, minds = await first_mind(settings, [souls.current(souls.main)], may_speak=True)
        announce(minds)
        llm = _llm_for(souls.current(souls.main), settings, stack, telemetry, _PLACEHOLDER_PACE)
        built = await stack.enter_async_context(
            assemble(settings, channel, clock, telemetry, workspace=channel.name, souls=souls, llm_of=lambda _: llm)
        )
        async with alongside(*built.work()):
            await channel.listen(built.store.inbox, asyncio.Event())
            await built.dispatcher.drain(settings.drain)
        await built.store.presence.leave()


async def consolidate_here(settings: Settings, soul: str, workspace: str) -> None:
    """Do the ordered consolidation of a soul while no daemon runs.

    Nothing is posted and no message is answered. Raises ConfigError, SoulError, StoreError.
    """
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        telemetry = await stack.enter_async_context(telemetry_of(settings.model_copy(update={"log_level": "minimal"})))
        souls = souls_of(settings, telemetry)
        llm = _llm_for(souls.current(soul), settings, stack, telemetry, 0.0)
        silent = TerminalChannel(soul, "admin", clock, source=_NO_INPUT, output=StringIO(), interactive=False)
        built = await stack.enter_async_context(
            assemble(settings, silent, clock, telemetry, workspace=workspace, souls=souls, llm_of=lambda _: llm)
        )
        night = built.nights[soul]
        if not night.has_room():
            raise StoreError("the disk is nearly full", hint="free space on the disk that holds SOUL_HOME")
        while (await night.stores.slots.newest()).ordered_ms is not None:
            await clock.sleep(min(_LOOK_S, await night.look()))


def _llm_for(soul: Soul, settings: Settings, stack: AsyncExitStack, emit: Emit, pace: float) -> LLM:
    """Build the models of a soul, closed with the stack. Raises ConfigError."""
    llm = build_llm(with_models_of(settings, soul), SystemClock(), emit, pace=pace)
    stack.push_async_callback(llm.aclose)
    return llm


def _slack_for(souls: Souls, settings: Settings, clock: Clock, emit: Emit) -> "SlackChannel":
    """Build Slack's channel. Each soul has its channels; all but the main one show their own name and icon."""
    from daemon.channels.slack.appearance import Appearance
    from daemon.channels.slack.channel import SlackChannel

    def appearance(name: str) -> Appearance | None:
        soul = souls.hosted(name)
        return None if soul.name == souls.main else Appearance(soul.display_name, soul.icon)

    appearance_of = appearance if len(souls.names) > 1 else None
    return SlackChannel(
        settings,
        clock,
        emit,
        soul_for_channel=souls.for_channel,
        appearance_of=appearance_of,
        words_of=lambda name, language: souls.hosted(name).words_in(language),
        shown_name=lambda name: souls.hosted(name).display_name,
        suggested=lambda name, language: souls.hosted(name).suggestions_in(language),
    )


async def _local_workspace(settings: Settings, soul: Soul, minds: str, stack: AsyncExitStack) -> "WorkspaceServer":
    from daemon.local_slack.server import serve_workspace

    souls = {name: name for name in settings.souls} | {settings.name: soul.display_name}
    serving = serve_workspace(port=settings.workspace_port, bot_name=soul.display_name, note=minds, souls=souls)
    return await stack.enter_async_context(serving)


def _joining(settings: Settings, workspace: "WorkspaceServer") -> Settings:
    joined = {
        "slack_bot_token": SecretStr(workspace.bot_token),
        "slack_app_token": SecretStr(workspace.app_token),
        "slack_api_url": workspace.api_url,
    }
    return settings.model_copy(update=joined)
