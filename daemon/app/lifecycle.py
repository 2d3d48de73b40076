"""A daemon's life: waiting for the platform, working until told to stop, signs of life, draining."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from daemon.core.concurrency import alongside
from daemon.core.config import Settings
from daemon.core.errors import StoreError
from daemon.core.ports import Channel, Clock, Emit
from daemon.core.systemd import ServiceManager, Watchdog
from daemon.memory.database.backup import back_up_periodically, folder_beside
from daemon.memory.store import Store
from daemon.runtime.dispatcher import Dispatchers

T = TypeVar("T")

_BEAT = 10.0  # seconds between two signs of life in memory.db
_START_PATIENCE = 60.0  # seconds asked of the service manager at a time
_TOLD_EXITS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon put together and ready to work on one channel; `chores` go on beside its work as long as it lives."""

    settings: Settings
    clock: Clock
    emit: Emit
    channel: Channel
    store: Store
    dispatcher: Dispatchers
    chores: tuple[Callable[[], Coroutine[object, object, None]], ...] = ()


async def live(
    built: Daemon, stop: asyncio.Event, service: ServiceManager, watchdog: Watchdog, announce: Callable[[str], None]
) -> None:
    """The daemon's tasks under one group until `stop` is set; then nothing new is heard and the work is drained.

    Any task that dies takes all down, and the service manager starts anew. Raises what it died of.
    """
    ready, database = asyncio.Event(), built.settings.database_path
    working = (
        built.dispatcher.run(),
        *(chore() for chore in built.chores),
        beat(built),
        back_up_periodically(database, folder_beside(database), built.clock, built.emit),
        watchdog.feed(built.channel.healthy, built.clock),
        _tell_when_ready(built, ready, service, announce),
    )
    async with alongside(*working):
        async with alongside(built.channel.listen(built.store.inbox, ready)):
            await stop.wait()
            service.stopping("finishing what is under way")
            built.emit("daemon.draining", active=built.dispatcher.active)
        finished = await built.dispatcher.drain(built.settings.drain)
        built.emit("daemon.drained", finished=finished)
    await built.store.presence.leave()


async def learned_before(
    stop: asyncio.Event, learn: Coroutine[object, object, T], service: ServiceManager, clock: Clock
) -> T | None:
    """What `learn` comes to know of the platform, however long that can't be reached; None when told to stop first."""
    told, learned = asyncio.Event(), None

    async def keep_asking() -> None:
        nonlocal learned
        learned = await learn
        told.set()

    async def give_up() -> None:
        await stop.wait()
        told.set()

    async with alongside(keep_asking(), give_up(), _ask_for_time(service, clock)):
        await told.wait()
    return learned


async def _ask_for_time(service: ServiceManager, clock: Clock) -> None:
    """While Slack can't be reached, the start takes long but has not failed."""
    while True:
        service.status("waiting for Slack")
        service.extend_timeout(_START_PATIENCE)
        await clock.sleep(_START_PATIENCE / 2)


async def _tell_when_ready(
    built: Daemon, ready: asyncio.Event, service: ServiceManager, announce: Callable[[str], None]
) -> None:
    await ready.wait()
    service.ready("connected to Slack")
    built.emit("daemon.ready")
    announce("Connected. Stop with Ctrl-C.")


async def beat(built: Daemon) -> None:
    """Keep our row in memory.db fresh, and free at once what daemons held that died without a word."""
    while True:
        try:
            healthy = built.channel.healthy()
            await built.store.presence.beat(
                "connected" if healthy else "not connected", {"active": built.dispatcher.active}
            )
            await built.store.presence.release_dead_claims(built.settings.in_doubt)
        except StoreError as error:
            built.emit("store.failed", reason=error.message, hint=error.hint)
        await built.clock.sleep(_BEAT)


@contextmanager
def stop_on_signals(stop: asyncio.Event) -> Iterator[None]:
    """The first SIGTERM or SIGINT sets `stop`; a second one cuts the body short, which then simply ends here."""
    loop, main, cut = asyncio.get_running_loop(), asyncio.current_task(), False
    assert main is not None  # a running loop's coroutine is a task's

    def told() -> None:
        nonlocal cut
        if stop.is_set():
            cut = True
            main.cancel()
        stop.set()

    for number in _TOLD_EXITS:
        loop.add_signal_handler(number, told)
    try:
        yield
    except asyncio.CancelledError:
        if not cut:
            raise
        main.uncancel()
    finally:
        for number in _TOLD_EXITS:
            loop.remove_signal_handler(number)
