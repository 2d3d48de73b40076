"""What programs tell the senses of souls, as the HTTP door asks for it."""

from collections.abc import Callable

from daemon.core.ports.telemetry import Emit
from daemon.core.pushed_readings import PushedReading
from daemon.memory.senses.pushed import PushedReadings


async def push_reading(
    readings: PushedReadings, emit: Emit, wake: Callable[[], None], reading: PushedReading
) -> tuple[str, ...]:
    """Store a reading once, and `wake` the souls; gives the ids of the conversations in which it is perceived.

    Raises NowhereToPerceive, TooManyReadings, OtherReading, SourceEnded and StoreError.
    """
    found, fresh = await readings.push(reading)
    emit("readings.taken", sense=reading.sense, conversations=len(found), fresh=fresh)
    if fresh:
        wake()
    return found
