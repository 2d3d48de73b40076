"""What programs tell the senses of souls, as the HTTP door asks for it."""

from collections.abc import Callable

from daemon.core.event_sources import EventSource
from daemon.core.ports.telemetry import Emit
from daemon.core.pushed_readings import PushedReading
from daemon.memory.senses.pushed import PushedReadings
from daemon.shared.room_events import RoomEvents


class SenseDoor:
    """Takes readings; the sources that may sign some are those of events. `wake` has the souls look what is new."""

    def __init__(self, readings: PushedReadings, events: RoomEvents, emit: Emit, wake: Callable[[], None]) -> None:
        self._readings = readings
        self._events = events
        self._emit = emit
        self._wake = wake

    async def source(self, name: str) -> EventSource | None:
        """See `RoomEvents.source`."""
        return await self._events.source(name)

    async def secret(self, source: EventSource) -> str:
        """See `RoomEvents.secret`."""
        return await self._events.secret(source)

    async def push(self, reading: PushedReading) -> tuple[str, ...]:
        """Store a reading once; gives the ids of the conversations in which it is perceived.

        Raises NowhereToPerceive, TooManyReadings, OtherReading, SourceEnded and StoreError.
        """
        found, fresh = await self._readings.push(reading)
        self._emit("readings.taken", sense=reading.sense, conversations=len(found), fresh=fresh)
        if fresh:
            self._wake()
        return found
