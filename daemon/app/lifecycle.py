"""A daemon's life: the wait for the platform, work until a stop, heartbeats, the drain."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

from daemon.app.health import Health
from daemon.core.concurrency import alongside, time_limit
from daemon.core.config import Settings
from daemon.core.errors import SchemaMismatch, StoreError
from daemon.core.ports import Channel, Clock, Emit
from daemon.core.systemd import ServiceManager, Watchdog
from daemon.memory.database.backup import back_up_periodically, folder_beside
from daemon.memory.store import Store
from daemon.runtime.dispatcher import Dispatcher

T = TypeVar("T")
Chore = Callable[[], Coroutine[object, object, None]]

_HEARTBEAT = 10.0  # seconds between two heartbeats in memory.db
_LEAVING = 10.0  # seconds after the drain in which the channel may still be closing
_START_EXTENSION = 60.0  # seconds asked of the service manager at a time
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon ready to work on one channel; `chores` run beside the dispatcher as long as it lives."""

    settings: Settings
    clock: Clock
    emit: Emit
    channel: Channel
    store: Store
    dispatcher: Dispatcher
    health: Health
    chores: Sequence[Chore] = ()

    async def live(
        self, stop: asyncio.Event, service: ServiceManager, watchdog: Watchdog, announce: Callable[[str], None]
    ) -> None:
        """Work until `stop` is set, then accept nothing new and drain.

        The first task that fails ends all others, and its error is raised; the service manager then restarts.
        """
        ready, left, database = asyncio.Event(), asyncio.Event(), self.settings.database_path
        async with alongside(
            *self.work(),
            back_up_periodically(database, folder_beside(database), self.clock, self.emit),
            watchdog.feed(self.health.works, self.clock),
            self._announce_ready(ready, service, announce),
            self._listen(stop, ready, left, service),
        ):
            await stop.wait()
            service.stopping("finishing the work in progress")
            self.emit("daemon.draining", active=self.dispatcher.active)
            finished = await self.dispatcher.drain(self.settings.drain)
            self.emit("daemon.drained", finished=finished)
            with suppress(TimeoutError):
                async with time_limit(self.clock, _LEAVING):
                    await left.wait()
            if not finished:
                await self.channel.close()  # what hangs on the platform ends now, and is looked up at the next start
        await self.store.presence.leave()

    def work(self) -> tuple[Coroutine[object, object, None], ...]:
        """What runs wherever the soul is reached: dispatcher, chores, heartbeat, the looks at its own health."""
        chores = (chore() for chore in self.chores)
        return (self.dispatcher.run(), *chores, self._heartbeat(), self.health.measure(), self._end_when_outdated())

    async def _listen(
        self, stop: asyncio.Event, ready: asyncio.Event, left: asyncio.Event, service: ServiceManager
    ) -> None:
        """Listen until `stop` is set; `left` is set once the channel is left, which goes on beside the drain."""
        try:
            async with alongside(self.channel.listen(self.store.inbox, ready), self._show_status(ready, service)):
                await stop.wait()
        finally:
            left.set()

    async def _show_status(self, ready: asyncio.Event, service: ServiceManager) -> None:
        """Keep the service manager's status line true."""
        await ready.wait()
        shown = ""
        while True:
            connected = "connected to Slack" if self.channel.healthy() else "not connected to Slack; it tries again"
            if connected != shown:
                shown = connected
                service.status(shown)
            await self.clock.sleep(_HEARTBEAT)

    async def _end_when_outdated(self) -> None:
        """Raises SchemaMismatch once a newer program has migrated memory.db, which ends this one at once."""
        try:
            await self.store.database.live_as_long_as_the_schema()
        except SchemaMismatch as mismatch:
            self.emit("daemon.outdated", reason=mismatch.message, hint="start the new program in its place")
            raise

    async def _heartbeat(self) -> None:
        """Keep this daemon's row in memory.db fresh, and release at once what dead daemons had claimed."""
        while True:
            connected, lag = self.channel.healthy(), self.health.worst_lag(int(_HEARTBEAT))
            try:
                state = "connected" if connected else "not connected"
                await self.store.presence.beat(state, {"active": self.dispatcher.active})
                await self.store.presence.release_dead_claims(self.settings.in_doubt)
            except StoreError as error:
                self.emit("store.failed", reason=error.message, hint=error.hint)
            self.health.store_answered()
            self.emit("heartbeat", connected=connected, active=self.dispatcher.active, loop_lag_s=round(lag, 3))
            await self.clock.sleep(_HEARTBEAT)

    async def _announce_ready(
        self, ready: asyncio.Event, service: ServiceManager, announce: Callable[[str], None]
    ) -> None:
        await ready.wait()
        service.ready("connected to Slack")
        self.emit("daemon.ready")
        announce("Connected. Stop with Ctrl-C.")


async def unless_stopped(
    stop: asyncio.Event, work: Coroutine[object, object, T], service: ServiceManager, clock: Clock
) -> T | None:
    """Await `work`, asking the service manager for time meanwhile; None if `stop` is set first."""
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
    """While Slack can't be reached the start takes long but has not failed."""
    while True:
        service.status("waiting for Slack")
        service.extend_timeout(_START_EXTENSION)
        await clock.sleep(_START_EXTENSION / 2)


@contextmanager
def stop_on_signals(stop: asyncio.Event) -> Iterator[None]:
    """The first SIGTERM or SIGINT sets `stop`; a second one cancels the body, and the cancellation ends here."""
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
