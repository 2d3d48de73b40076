"""Tells people that an admin has looked at words of theirs: one line in their direct messages, once a day at most.

It waits until their quiet hours are over; what is looked at meanwhile is in the same line.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from daemon.core.errors import NotDelivered, StoreError
from daemon.core.initiative import QuietHours
from daemon.core.last_line import in_short
from daemon.core.ports.channel import Room
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit
from daemon.memory.queues.readings_to_tell import ReadingsToTell, Telling

_EVERY_S: Final = 15.0
_AGAIN_S: Final = 600.0  # where the platform can't be asked now
_REFUSED_S: Final = 86_400.0  # where it refuses: the person left, or is one of those whom the soul may not write to


async def tell_of_readings(
    readings: ReadingsToTell,
    find_room: Callable[[str], Awaitable[Room]],
    clock: Clock,
    emit: Emit,
    on_due: Callable[[], None],
    *,
    quiet: QuietHours,
) -> None:
    """Look every few seconds until cancelled; `on_due` is called when a line waits to be sent. Raises StoreError."""
    while True:
        now, told = clock.now_ms(), False
        for one in await readings.due():
            if (over := quiet.over(now, one.zone)) > now:
                await readings.wait(one, over)
            else:
                told |= await _tell(readings, one, find_room, emit, quiet)
        if told:
            on_due()
        await clock.sleep(_EVERY_S)


async def _tell(
    readings: ReadingsToTell,
    telling: Telling,
    find_room: Callable[[str], Awaitable[Room]],
    emit: Emit,
    quiet: QuietHours,
) -> bool:
    try:
        room = await readings.room_of(telling.person) or await find_room(telling.person)
    except StoreError:
        raise
    except NotDelivered as error:
        await readings.put_off(telling, error.retry_after or _AGAIN_S)
        return False
    except Exception as error:  # noqa: BLE001 - one person's room must not keep the others from being told
        waits = await readings.put_off(telling, _REFUSED_S)
        emit("memory.not_told", reason=in_short(error), given_up=not waits)
        return False
    return await readings.tell(telling, room, quiet)
