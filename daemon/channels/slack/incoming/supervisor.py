"""All connections of one app: at least one must be heard; whenever there was a moment without, history is read."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from daemon.channels.slack.incoming.connection import Connection
from daemon.core.ports import Clock, Emit

_TICK: Final = 1.0
_PROBE: Final = 3600.0  # seconds between two look-backs even when nothing seemed lost (P6)


class Supervisor:
    """Runs the connections and the catch-up; says whether anybody is listening.

    Whoever sets `gap` has history read: what was said lately may be missing.
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
        self._lost = True
        self._whole = False  # nothing that was said since the last confirmed mark can be missing

    def healthy(self) -> bool:
        """Whether at least one socket is connected and answering."""
        return any(connection.alive for connection in self._connections)

    async def run(self, ready: asyncio.Event) -> None:
        """Keep all connections until cancelled; `ready` is set at the first hello."""

        def up(connection: Connection) -> None:
            others = any(other.alive for other in self._connections if other is not connection)
            if self._lost or not others:
                self._gap.set()  # nobody listened just before this hello
            if self._lost:
                self._lost = False
                self._emit("slack.connected")
            ready.set()

        async with asyncio.TaskGroup() as group:
            for connection in self._connections:
                group.create_task(connection.keep(up))
            group.create_task(self._watch())
            group.create_task(self._fill_gaps())
            group.create_task(self._probe())

    async def _watch(self) -> None:
        """Tell when everything is lost, and move the mark of what was surely heard while it is not."""
        while True:
            await self._clock.sleep(_TICK)
            if not self.healthy():
                self._whole = False
                if not self._lost:
                    self._lost = True
                    self._emit("slack.lost")
            elif self._whole and not self._gap.is_set():
                await self._confirm()

    async def _fill_gaps(self) -> None:
        while True:
            await self._gap.wait()
            self._gap.clear()
            self._whole = False
            await self._catch_up()
            self._whole = not self._gap.is_set()

    async def _probe(self) -> None:
        while True:
            await self._clock.sleep(_PROBE)
            self._gap.set()
