"""The programs that may report to souls, as the HTTP door asks about them."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from daemon.core.event_sources import SECRET_FILE, EventSource, secret_of
from daemon.core.ports.telemetry import Emit
from daemon.core.secret_files import kept_secret
from daemon.memory.queues.source_events import NewEvent, SourceEvents


class RoomEvents:
    """Finds sources and their secrets, and takes their events.

    `home` holds the file that secrets are made of; `wake` has the souls look what is new.
    """

    def __init__(self, events: SourceEvents, home: Path, emit: Emit, wake: Callable[[], None]) -> None:
        self._events = events
        self._home = home
        self._emit = emit
        self._wake = wake

    async def source(self, name: str) -> EventSource | None:
        """The source of this name that is in force. Raises StoreError."""
        return await self._events.source(name)

    async def secret(self, source: EventSource) -> str:
        """The secret of a source. Raises ConfigError where the file can't be read."""
        master = await asyncio.to_thread(kept_secret, self._home / SECRET_FILE, self._emit)
        return secret_of(master, source.id)

    async def take(self, source: EventSource, id_: str, words: str) -> bool:
        """Store an event once; False if it came before.

        Raises TooManyEvents, OtherEvent, SourceEnded and StoreError.
        """
        fresh = await self._events.take(NewEvent(source, id_, words))
        self._emit("events.taken", source=source.name, fresh=fresh)
        if fresh and source.wakes:
            self._wake()
        return fresh
