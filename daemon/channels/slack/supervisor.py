"""Keeps the sockets open; after any gap without one, it starts catch-up."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Final

from daemon.channels.slack.connection import Connection
from daemon.core.last_line import LastLine
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit

_TICK: Final = 1.0
_CATCH_UP_EVERY: Final = 1800.0  # seconds between two catch-ups even without a known gap (P6); well below stale_after


class Supervisor:
    """Runs all connections of one app and the catch-up.

    Setting `gap` requests a catch-up: a message may be missing.
    """

    def __init__(  # one of each part it joins
        self,
        connections: tuple[Connection, ...],
        catch_up: Callable[[], Coroutine[object, object, None]],
        clock: Clock,
        emit: Emit,
        gap: asyncio.Event,
    ) -> None:
        self._connections = connections
        self._catch_up = catch_up
        self._clock = clock
        self._emit = emit
        self._gap = gap
        self._disconnected = True

    def healthy(self) -> bool:
        """Whether at least one socket is connected and answers pings."""
        return any(connection.alive for connection in self._connections)

    async def run(self, ready: asyncio.Event) -> None:
        """Keep all connections open until cancelled; `ready` is set at the first hello."""

        def up(connection: Connection) -> None:
            others_alive = any(other.alive for other in self._connections if other is not connection)
            if self._disconnected or not others_alive:
                self._gap.set()  # no socket was open just before this hello
            if self._disconnected:
                self._disconnected = False
                self._emit("slack.connected")
            ready.set()

        keep = LastLine(self._clock, self._emit).keep
        async with asyncio.TaskGroup() as group:
            for connection in self._connections:
                group.create_task(keep("socket", partial(connection.keep_open, up)))
            group.create_task(keep("watch on the sockets", self._watch))
            group.create_task(keep("catch-up", self._fill_gaps))
            group.create_task(keep("hourly catch-up", self._request_catch_ups))

    async def _watch(self) -> None:
        """Emit `slack.lost` when the last socket is gone."""
        while True:
            await self._clock.sleep(_TICK)
            if not self.healthy() and not self._disconnected:
                self._disconnected = True
                self._emit("slack.lost")

    async def _fill_gaps(self) -> None:
        try:
            await self._catch_up()
        except Exception:
            self._gap.set()  # begun again after the pause of the last line
            raise

    async def _request_catch_ups(self) -> None:
        while True:
            await self._clock.sleep(_CATCH_UP_EVERY)
            self._gap.set()
