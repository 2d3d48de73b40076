"""Builds what tells the admin of what is wrong, from everything in a daemon that can see it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from daemon.app.lifecycle import Daemon
from daemon.app.money import caps_of
from daemon.core.alarms import DISK, SLACK, alarm_name
from daemon.core.concurrency import in_background
from daemon.core.config import Settings
from daemon.core.ports.channel import Channel
from daemon.core.ports.clock import Clock
from daemon.core.spending import day_at
from daemon.memory.database import Database
from daemon.memory.queues.duties import Duty
from daemon.memory.retrieval.keeper import LEAST_ROOM, free_bytes
from daemon.memory.spending.left import spent_today
from daemon.runtime.alarms import EVERY_S, Addressees, AlarmSource, AlarmWatch
from daemon.soul import Souls

Doctor = Callable[[Settings], Sequence[str]]
"""Gives the names of the checks that fail; it may take long, and runs in a thread of its own."""

_NEARLY: Final = 0.95  # of a cap
_DOCTOR_EVERY_S: Final = 3600.0
_GRACE_S: Final = 300.0  # for which a connection may be lost before it is an alarm


def with_alarms(built: Daemon, souls: Souls, doctor: Doctor = lambda _: ()) -> Daemon:
    """The same daemon, which also tells what is wrong, in the name of its main soul.

    One without a channel or an admin to write to leaves the posts to those that have them.
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
    return replace(built, chores={**built.chores, "alarms": watch.run})


def _from(look: Callable[[], Sequence[str]]) -> AlarmSource:
    async def seen() -> Sequence[str]:
        return look()

    return seen


async def _disk(home: Path) -> Sequence[str]:
    """The bytes that must stay free for words, as for all other parts that write."""
    return (DISK,) if await in_background(partial(free_bytes, home)) < LEAST_ROOM else ()


async def _budgets(settings: Settings, database: Database, clock: Clock, souls: Souls) -> Sequence[str]:
    """The souls that have spent what they may spend today, or nearly."""
    day, found = day_at(clock.now_ms(), settings.cap_zone).date, list[str]()
    for name in souls.names:
        cap = caps_of(settings, souls.current(name)).soul
        if cap and (await spent_today(database, name, day)).left_of(cap) <= cap * (1 - _NEARLY):
            found.append(alarm_name("budget", name))
    return found


class ConnectionLook:
    """Whether the platform is heard: a revoked token is an alarm at once, a lost connection after some minutes."""

    def __init__(self, channel: Channel, clock: Clock) -> None:
        self._channel = channel
        self._clock = clock
        self._lost_at: float | None = None

    async def seen(self) -> Sequence[str]:
        """The alarm of the connection, if it is one."""
        if self._channel.healthy():
            self._lost_at = None
            return (SLACK,) if self._channel.trouble() else ()
        now = self._clock.monotonic()
        self._lost_at = now if self._lost_at is None else self._lost_at
        return (SLACK,) if self._channel.trouble() or now - self._lost_at >= _GRACE_S else ()


class DoctorLook:
    """What `soul doctor` says of this machine, once an hour, and first when the start is over."""

    def __init__(self, doctor: Callable[[], Sequence[str]], clock: Clock) -> None:
        self._doctor = doctor
        self._clock = clock
        self._due = clock.monotonic() + EVERY_S
        self._failing: tuple[str, ...] = ()

    async def seen(self) -> Sequence[str]:
        """The checks that failed the last time."""
        if self._clock.monotonic() >= self._due:
            self._due = self._clock.monotonic() + _DOCTOR_EVERY_S
            self._failing = tuple(alarm_name("doctor", name) for name in await in_background(self._doctor))
        return self._failing
