"""The kinds of channels as events and lists named them; "public" is trusted for some minutes only."""

from typing import Final

from daemon.core.lru import Lru
from daemon.core.perception import Place
from daemon.core.ports.clock import Clock

TRUSTED: Final = 600.0
"""Seconds for which a channel that was public still counts as public; then it counts as private until asked about."""

_MOST: Final = 5_000  # channels; of a forgotten one nothing is known, and it counts as private


class KnownPlaces(Lru[str, Place]):
    """The kind of each channel; an `app_mention` names none, and the channel may have been made private meanwhile."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(_MOST, now=clock.monotonic)

    def __getitem__(self, channel: str) -> Place:
        """The kind of a channel, the narrower one where the knowledge is old. Raises KeyError."""
        at, place = self._kept[channel]
        old = self._now() - at >= TRUSTED
        return Place.PRIVATE_CHANNEL if place is Place.PUBLIC_CHANNEL and old else place
