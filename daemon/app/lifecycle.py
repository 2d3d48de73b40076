"""The lifecycle of a daemon: the wait for the platform, work until a stop, heartbeats, the drain, the clock."""

import asyncio
import json
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from aiohttp import ClientError, ClientSession, ClientTimeout
from msgspec import field
from yarl import URL

from daemon.app.health import Health
from daemon.core import concurrency as long_lived
from daemon.core.channels import Channels
from daemon.core.concurrency import alongside, in_background, time_limit
from daemon.core.config import Settings
from daemon.core.errors import ConfigError, SchemaMismatch, of_machine
from daemon.core.http import is_loopback
from daemon.core.last_line import LastLine, Loop
from daemon.core.ports.services import Clock, Emit, SystemClock
from daemon.core.systemd import ServiceManager, Watchdog
from daemon.core.telemetry.redaction import RecentErrors
from daemon.core.value import Value
from daemon.llm.router import load_for_messages
from daemon.local_slack.clock import WorkspaceClock
from daemon.memory.database.backup import BackupSchedule
from daemon.memory.database.copies import folder_beside
from daemon.memory.queues.alarms import Duty
from daemon.memory.queues.presence import Presence
from daemon.memory.retrieval.surfacing import Surfacing
from daemon.memory.store import Store
from daemon.runtime.consolidation import Consolidator
from daemon.runtime.dispatcher import Dispatcher
from daemon.shared.contexts import SharedContexts
from daemon.soul import Souls


@dataclass(eq=False)
class Hosting:
    """The souls that this daemon hosts, with their channels, and those that others host.

    `account` is the account whose messages they hear on the platform, empty without one: a soul of another account
    hears its own. `url` returns the address of the HTTP API, empty for none.
    """

    presence: Presence
    souls: Souls
    account: str
    url: Callable[[], str]

    async def say(self, state: str, more: Mapping[str, object]) -> None:
        """Write the heartbeat. Raises StoreError."""
        await self.presence.beat(state, {**more, **self._detail()})

    async def refresh(self) -> None:
        """Accept messages for the souls of other living daemons too, in their channels. Raises StoreError."""
        elsewhere: dict[str, str] = {}
        for other in await self.presence.others():
            if self.account and other.account == self.account:
                for soul, channels in other.souls.items():
                    elsewhere |= {channel: min(soul, elsewhere.get(channel, soul)) for channel in channels}
        self.souls.set_elsewhere(elsewhere)

    async def has_neighbours(self) -> bool:
        """Return true if another daemon runs on this memory.db. Raises StoreError."""
        return bool(await self.presence.others())

    def _detail(self) -> dict[str, object]:
        hosted = {name: list(self.souls.current(name).channels) for name in self.souls.names}
        called = {name: self.souls.current(name).display_name for name in self.souls.names}
        found = {"souls": hosted, "called": called, "account": self.account, "http": self.url()}
        return {name: value for name, value in found.items() if value}


T = TypeVar("T")

_HEARTBEAT = 10.0  # seconds between two heartbeats in memory.db
_LOOK_FOR_THE_DEAD = 1.0  # seconds between two checks whether another daemon died
_LEAVING = 10.0  # seconds after the drain in which the channel may still be closing
_START_EXTENSION = 60.0  # seconds asked of the service manager at a time
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Daemon(Value):
    """The daemon, ready to work on its channels. `chores` run next to the dispatcher, by name.

    `troubles` are reported by its heartbeat, `nights` consolidate each soul's memory. `contexts` are shared by souls
    and people, in the admin's name. `hosting` knows the other daemons, `surfacing` finds memories.
    """

    settings: Settings
    clock: Clock
    emit: Emit
    channels: Channels
    store: Store
    dispatcher: Dispatcher
    health: Health
    troubles: RecentErrors
    contexts: SharedContexts
    hosting: Hosting
    surfacing: Surfacing
    chores: Mapping[str, Loop] = field(default_factory=dict)
    nights: Mapping[str, Consolidator] = field(default_factory=dict)

    async def live(
        self, stop: asyncio.Event, service: ServiceManager, watchdog: Watchdog, announce: Callable[[str], None]
    ) -> None:
        """Work until `stop` is set, then accept nothing new and drain.

        A failed task is restarted. Only a fault for an admin ends all of them, and is raised.
        """
        ready, left, backups = asyncio.Event(), asyncio.Event(), folder_beside(self.settings.database_path)
        share, copies = self.settings.backup_share, Duty(self.store.database, self.clock, "backup", every_s=0.0).turn
        beside: dict[str, Loop] = {
            "backup": BackupSchedule(self.store.database, backups, self.clock, self.emit, share=share, turn=copies).run,
            "watchdog": partial(watchdog.feed, self.health.works, self.clock),
            "readiness": partial(self._announce_ready, ready, service, announce),
        }
        await self._beat_once()  # before it binds an address: its neighbours see it
        async with alongside(*self.work(), *self._kept(beside), self._listen(stop, ready, left, service)):
            await stop.wait()
            service.stopping("finishing the work in progress")
            self.emit("daemon.draining", active=self.dispatcher.active)
            finished = await self.dispatcher.drain(self.settings.drain)
            self.emit("daemon.drained", finished=finished)
            with suppress(TimeoutError):
                async with time_limit(self.clock, _LEAVING):
                    await left.wait()
            if not finished:
                await (
                    self.channels.main.close()
                )  # open requests to the platform end now, and are looked up at the next start
        await self.store.presence.leave()

    def work(self) -> tuple[Coroutine[object, object, None], ...]:
        """Return the loops that run for every channel: dispatcher, chores, heartbeat, health checks."""
        loops: dict[str, Loop] = {
            "heartbeat": self._heartbeat,
            "dispatcher": self._claim,
            "health": self.health.measure,
            "look at the schema": self._end_when_outdated,
        }
        return self._kept({**self.chores, **loops})

    def _kept(self, loops: Mapping[str, Loop]) -> tuple[Coroutine[object, object, None], ...]:
        last_line = LastLine(self.clock, self.emit)
        return tuple(last_line.keep(*loop) for loop in loops.items())

    async def _listen(
        self, stop: asyncio.Event, ready: asyncio.Event, left: asyncio.Event, service: ServiceManager
    ) -> None:
        """Listen until `stop` is set. Then `left` is set and the channel closes during the drain."""
        loops: dict[str, Loop] = {
            "channel": partial(self.channels.listen, self.store.inbox, ready),
            "service status": partial(self._show_status, ready, service),
        }
        try:
            async with alongside(*self._kept(loops)):
                await stop.wait()
        finally:
            left.set()

    async def _show_status(self, ready: asyncio.Event, service: ServiceManager) -> None:
        """Update the service manager's status line until the daemon stops."""
        await ready.wait()
        shown = ""
        while True:
            connected = (
                "connected to Slack" if self.channels.main.healthy() else "not connected to Slack; it tries again"
            )
            if connected != shown:
                shown = connected
                service.status(shown)
            await self.clock.sleep(_HEARTBEAT)

    async def _end_when_outdated(self) -> None:
        """Raise SchemaMismatch once a newer program has migrated memory.db, which ends this daemon at once."""
        try:
            await self.store.database.live_as_long_as_the_schema()
        except SchemaMismatch as mismatch:
            self.emit("daemon.outdated", reason=mismatch.message, hint="start the new program in its place")
            raise

    async def _claim(self) -> None:
        try:
            await in_background(partial(load_for_messages, self.settings))
        except Exception as error:
            if of_machine(error):
                raise
            self.emit("imports.failed", reason=str(error))
        long_lived.imported()
        await self.dispatcher.run()

    async def _heartbeat(self) -> None:
        """Renew this daemon's row in memory.db, and release at once what dead daemons had claimed.

        The death of another daemon triggers the next round early.
        """
        while True:
            lag = self.health.worst_lag(int(_HEARTBEAT))
            try:
                connected = await self._beat()
                if await self.store.presence.release_dead_claims(self.settings.in_doubt):
                    self.dispatcher.look_again()
                await self.hosting.refresh()
            finally:
                self.health.store_answered()  # after an error, too: a full disk is no reason for a restart
            self.emit("heartbeat", connected=connected, active=self.dispatcher.active, loop_lag_s=round(lag, 3))
            await self._until_next_beat()

    async def _until_next_beat(self) -> None:
        until = self.clock.monotonic() + _HEARTBEAT
        while self.clock.monotonic() < until and not self.store.presence.anyone_died():
            await self.clock.sleep(_LOOK_FOR_THE_DEAD)

    async def _beat_once(self) -> None:
        with suppress(Exception):
            await self._beat()

    async def _beat(self) -> bool:
        """Write the heartbeat. Return whether the platform is connected. Raises StoreError."""
        connected = self.channels.main.healthy()
        state = self.channels.main.trouble() or ("connected" if connected else "not connected")
        await self.hosting.say(state, {"active": self.dispatcher.active, **self._failing()})
        return connected

    def _failing(self) -> dict[str, object]:
        troubles = self.troubles.now()
        return {"failing": troubles} if troubles else {}

    async def _announce_ready(
        self, ready: asyncio.Event, service: ServiceManager, announce: Callable[[str], None]
    ) -> None:
        await ready.wait()
        await self._beat_once()  # with the address of its HTTP API
        long_lived.imported()
        service.ready("connected to Slack")
        self.emit("daemon.ready")
        announce("Connected. Stop with Ctrl-C.")


async def unless_stopped(
    stop: asyncio.Event, work: Coroutine[object, object, T], service: ServiceManager, clock: Clock
) -> T | None:
    """Await `work` and ask the service manager for more time. Return None if `stop` is set first."""
    settled, result = asyncio.Event(), None

    async def finish() -> None:
        nonlocal result
        result = await work
        settled.set()

    async def give_up() -> None:
        await stop.wait()
        settled.set()

    async with alongside(finish(), give_up(), _ask_for_time(service, clock)):
        await settled.wait()
    return result


async def _ask_for_time(service: ServiceManager, clock: Clock) -> None:
    """Ask the service manager for more time: while Slack can't be reached, the start has not failed."""
    while True:
        service.status("waiting for Slack")
        service.extend_timeout(_START_EXTENSION)
        await clock.sleep(_START_EXTENSION / 2)


@contextmanager
def stop_on_signals(stop: asyncio.Event) -> Iterator[None]:
    """Set `stop` at the first SIGTERM or SIGINT. A second one cancels the body, and the cancellation ends here."""
    loop, main, cut = asyncio.get_running_loop(), asyncio.current_task(), False
    assert main is not None  # a running loop's coroutine is a task's

    def signalled() -> None:
        nonlocal cut
        if stop.is_set():
            cut = True
            main.cancel()
        stop.set()

    for number in _STOP_SIGNALS:
        loop.add_signal_handler(number, signalled)
    try:
        yield
    except asyncio.CancelledError:
        if not cut:
            raise
        main.uncancel()
    finally:
        for number in _STOP_SIGNALS:
            loop.remove_signal_handler(number)


_ANSWERS_S: Final = 5.0
_AGAIN_S: Final = 0.5  # real seconds between two tries to reach the workspace
_NO_TIME: Final = (ClientError, TimeoutError, ValueError, KeyError, TypeError, StopAsyncIteration)


@asynccontextmanager
async def clock_of(settings: Settings) -> AsyncIterator[Clock]:
    """Yield the machine's clock, or with `SOUL_REHEARSAL_CLOCK` one that follows the local workspace's.

    The workspace keeps its time: a daemon that starts again continues from there. Raises ConfigError where Slack's
    address isn't on this machine, or is none of a local workspace.
    """
    if not settings.rehearsal_clock:
        yield SystemClock()
        return
    url = URL(settings.slack_api_url)
    if not is_loopback(url.host or ""):
        raise ConfigError(
            f"SOUL_REHEARSAL_CLOCK moves time with a local workspace, and {url.host} is not on this machine",
            hint="unset SOUL_REHEARSAL_CLOCK, or let SLACK_API_URL name a local workspace",
        )
    clock, known = WorkspaceClock(SystemClock()), asyncio.Event()
    forever = ClientTimeout(total=None, sock_connect=_ANSWERS_S)
    async with (
        ClientSession(headers=_headers(settings), timeout=forever) as session,
        alongside(clock.run(), _follow(session, url.with_path("/clock"), clock, known)),
    ):
        try:
            async with asyncio.timeout(_ANSWERS_S):
                await known.wait()
        except TimeoutError:
            raise ConfigError(
                f"no local workspace says its time at {url.origin()}",
                hint="start it before the daemon and give the daemon its tokens, or unset SOUL_REHEARSAL_CLOCK",
            ) from None
        yield clock


async def clock_at_hand(settings: Settings) -> Clock | None:
    """Return the clock of `clock_of` for short commands, moved to the current time. None without a local workspace."""
    url, clock = URL(settings.slack_api_url), WorkspaceClock(SystemClock())
    if is_loopback(url.host or ""):
        with suppress(*_NO_TIME):
            once = ClientTimeout(total=_ANSWERS_S)
            async with (
                ClientSession(headers=_headers(settings), timeout=once) as session,
                aclosing(_times(session, url.with_path("/clock"))) as times,
            ):
                clock.advance(max(0.0, await anext(times) - clock.now()))
                return clock
    return None


def _headers(settings: Settings) -> dict[str, str]:
    token = settings.slack_bot_token.get_secret_value() if settings.slack_bot_token else ""
    return {"Authorization": f"Bearer {token}"}


async def _times(session: ClientSession, url: URL) -> AsyncGenerator[float, None]:
    """Yield the workspace's time (seconds since the epoch), at once and after each move. Raises `_NO_TIME`."""
    async with session.get(url) as response:
        response.raise_for_status()
        async for line in response.content:
            if line.startswith(b"data: "):
                yield float(json.loads(line[6:])["now"])


async def _follow(session: ClientSession, url: URL, clock: WorkspaceClock, known: asyncio.Event) -> None:
    """Move the clock forward whenever the workspace's is ahead. Reconnect when the connection ends."""
    while True:
        with suppress(*_NO_TIME):
            async for now in _times(session, url):
                clock.advance(max(0.0, now - clock.now()))
                known.set()
        await SystemClock().sleep(_AGAIN_S)
