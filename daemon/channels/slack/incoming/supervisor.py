"""Keeps the sockets open; after any gap without one, it starts catch-up."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from daemon.channels.slack.incoming.connection import Connection
from daemon.core.last_line import LastLine
from daemon.core.ports import Clock, Emit

_TICK: Final = 1.0
_CATCH_UP_EVERY: Final = 3600.0  # seconds between two catch-ups even without a known gap (P6)


class Supervisor:
    """Runs all connections of one app and the catch-up.

    Setting `gap` requests a catch-up: a message may be missing. `confirm` moves the watermark.
    """

    def __init__(  # noqa: PLR0917  # one of each part it joins
        self,
        connections: tuple[Connection, ...],
        catch_up: Callable[[], Awaitable[None]],
        confirm: Callable[[], Awaitable[None]],
        clock: Clock,
        emit: Emit,
        gap: asyncio.Event,
    ) -> None:
        self._connections = connections
        self._catch_up = catch_up
        self._confirm = confirm
        self._clock = clock
        self._emit = emit
        self._gap = gap
        self._disconnected = True
        self._complete = False  # whether every message up to now surely arrived

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
        """Emit `slack.lost` when the last socket is gone; confirm the watermark while nothing is missing."""
        while True:
            await self._clock.sleep(_TICK)
            if not self.healthy():
                self._complete = False
                if not self._disconnected:
                    self._disconnected = True
                    self._emit("slack.lost")
            elif self._complete and not self._gap.is_set():
                await self._confirm()

    async def _fill_gaps(self) -> None:
        while True:
            await self._gap.wait()
            self._gap.clear()
            self._complete = False
            try:
                await self._catch_up()
            except Exception:
                self._gap.set()  # begun again after the pause of the last line
                raise
            self._complete = not self._gap.is_set()

    async def _request_catch_ups(self) -> None:
        while True:
            await self._clock.sleep(_CATCH_UP_EVERY)
            self._gap.set()
