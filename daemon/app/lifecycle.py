"""A daemon's life: the wait for the platform, work until a stop, heartbeats, the drain."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from daemon.core.concurrency import alongside
from daemon.core.config import Settings
from daemon.core.errors import StoreError
from daemon.core.ports import Channel, Clock, Emit
from daemon.core.systemd import ServiceManager, Watchdog
from daemon.memory.database.backup import BackupSchedule, folder_beside
from daemon.memory.store import Store
from daemon.runtime.dispatcher import Dispatcher

T = TypeVar("T")
Chore = Callable[[], Coroutine[object, object, None]]

_HEARTBEAT = 10.0  # seconds between two heartbeats in memory.db
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
    chores: Sequence[Chore] = ()

    async def live(
        self, stop: asyncio.Event, service: ServiceManager, watchdog: Watchdog, announce: Callable[[str], None]
    ) -> None:
        """Work until `stop` is set, then accept nothing new and drain.

        The first task that fails ends all others, and its error is raised; the service manager then restarts.
        """
        ready, backups = asyncio.Event(), folder_beside(self.settings.database_path)
        share = self.settings.backup_share
        async with alongside(
            *self.work(),
            BackupSchedule(self.store.database, backups, self.clock, self.emit, share=share).run(),
            watchdog.feed(self.channel.healthy, self.clock),
            self._announce_ready(ready, service, announce),
        ):
            async with alongside(self.channel.listen(self.store.inbox, ready)):
                await stop.wait()
                service.stopping("finishing the work in progress")
                self.emit("daemon.draining", active=self.dispatcher.active)
            finished = await self.dispatcher.drain(self.settings.drain)
            self.emit("daemon.drained", finished=finished)
        await self.store.presence.leave()

    def work(self) -> tuple[Coroutine[object, object, None], ...]:
        """What runs wherever the soul is reached: dispatcher, chores and heartbeat."""
        return (self.dispatcher.run(), *(chore() for chore in self.chores), self._heartbeat())

    async def _heartbeat(self) -> None:
        """Keep this daemon's row in memory.db fresh, and release at once what dead daemons had claimed."""
        while True:
            try:
                state = "connected" if self.channel.healthy() else "not connected"
                await self.store.presence.beat(state, {"active": self.dispatcher.active})
                await self.store.presence.release_dead_claims(self.settings.in_doubt)
            except StoreError as error:
                self.emit("store.failed", reason=error.message, hint=error.hint)
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
