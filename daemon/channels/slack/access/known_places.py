"""The kinds of channels as events and lists named them; "public" is trusted for some minutes only."""

from collections import OrderedDict
from collections.abc import Iterator, MutableMapping
from typing import Final

from daemon.core.perception import Place
from daemon.core.ports.clock import Clock

TRUSTED: Final = 600.0
"""Seconds for which a channel that was public still counts as public; then it counts as private until asked about."""

_MOST: Final = 5_000  # channels; of a forgotten one nothing is known, and it counts as private


class KnownPlaces(MutableMapping[str, Place]):
    """The kind of each channel; an `app_mention` names none, and the channel may have been made private meanwhile."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._places: OrderedDict[str, tuple[Place, float]] = OrderedDict()

    def __getitem__(self, channel: str) -> Place:
        """The kind of a channel, the narrower one where the knowledge is old. Raises KeyError."""
        place, at = self._places[channel]
        old = self._clock.monotonic() - at >= TRUSTED
        return Place.PRIVATE_CHANNEL if place is Place.PUBLIC_CHANNEL and old else place

    def __setitem__(self, channel: str, place: Place) -> None:
        """Note the kind of a channel as it is named now."""
        self._places[channel] = (place, self._clock.monotonic())
        self._places.move_to_end(channel)
        while len(self._places) > _MOST:
            self._places.popitem(last=False)

    def __delitem__(self, channel: str) -> None:
        """Forget a channel. Raises KeyError."""
        del self._places[channel]

    def __iter__(self) -> Iterator[str]:
        """The channels."""
        return iter(self._places)

    def __len__(self) -> int:
        """How many channels are known."""
        return len(self._places)
