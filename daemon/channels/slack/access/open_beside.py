"""Says what a person has open beside the talk: names and addresses, where they and everybody who reads may know it.

Of what may not be known it says nothing at all, not even that it is there.
"""

from collections.abc import Sequence
from typing import Final

from daemon.channels.slack.access.people import Directory
from daemon.channels.slack.access.permalinks import Permalinks
from daemon.channels.slack.access.readers import RoomReaders
from daemon.channels.slack.incoming.event_reader import EventReader
from daemon.channels.slack.incoming.text import label
from daemon.core.concurrency import time_limit
from daemon.core.errors import ChannelError, StoreError
from daemon.core.looked_at import LookedAt, OpenBeside, Opened
from daemon.core.perception import Perception, Place, Readers
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit

_PATIENCE_S: Final = 3.0  # for all of them; the reply waits
_CHANNELS: Final = (Place.PUBLIC_CHANNEL, Place.PRIVATE_CHANNEL)


class BesideReader:
    """Looks the things up in our own workspace."""

    def __init__(
        self, directory: Directory, readers: RoomReaders, permalinks: Permalinks, clock: Clock, emit: Emit
    ) -> None:
        self._directory = directory
        self._readers = readers
        self._permalinks = permalinks
        self._clock = clock
        self._emit = emit

    async def beside(
        self, perception: Perception, readers: Readers, seen: Sequence[LookedAt], own: EventReader
    ) -> tuple[OpenBeside, ...]:
        """See `Channel.beside`."""
        found = list[OpenBeside]()
        try:
            async with time_limit(self._clock, _PATIENCE_S):
                for one in seen:
                    if one.kind in (Opened.CANVAS, Opened.LIST):
                        found.append(OpenBeside(one.kind))
                    elif (known := await self._known(one, perception, readers, own)) is not None:
                        found.append(known)
        except (ChannelError, StoreError, TimeoutError) as error:
            self._emit("slack.beside_unknown", reason=str(error))
        return tuple(found)

    async def _known(
        self, one: LookedAt, perception: Perception, readers: Readers, own: EventReader
    ) -> OpenBeside | None:
        """A channel, or a message in it. Raises ChannelError, StoreError."""
        room = await self._directory.room(one.channel)
        if room is None or room.place not in _CHANNELS or not room.name:
            return None
        if not await self._readers.may_quote(room, perception, readers):
            return None
        address = f"{own.identity.url.rstrip('/')}/archives/{room.id}"
        if one.kind is Opened.MESSAGE and not (address := await self._permalinks.of(room.id, one.ts)):
            return None
        private = room.id if room.place is Place.PRIVATE_CHANNEL else ""
        return OpenBeside(one.kind, f"#{label(room.name)}", address, private, room.id)
