"""How the soul works in one channel, as those who manage the channel have set it."""

from dataclasses import dataclass
from typing import Final, Protocol

LONGEST_INSTRUCTIONS: Final = 600
"""Characters of the instructions of one channel."""

STREAMS: Final = ("", "on", "off")
"""Whether answers are shown there while they grow; empty: as in the settings."""

JOINS: Final = ("", "mention")
"""Where it answers there: empty for mentions and the threads that it is in, `mention` for mentions alone."""


@dataclass(frozen=True, slots=True)
class RoomWay:
    """What is set for a channel by `person`; empty fields are as everywhere.

    `instructions` are words of people, data like all others. `soul` answers in threads that begin from then on.
    """

    instructions: str = ""
    soul: str = ""
    streams: str = ""
    joins: str = ""
    person: str = ""

    @property
    def is_plain(self) -> bool:
        return not (self.instructions or self.soul or self.streams or self.joins)

    @property
    def shows_growing(self) -> bool | None:
        return {"on": True, "off": False}.get(self.streams)


@dataclass(frozen=True, slots=True)
class ManagedRoom:
    """A channel in which the soul is, by its id and name, for a person who may manage it."""

    id: str
    name: str


class RoomWays(Protocol):
    """What is set for channels, in memory.db, the same for all daemons on it."""

    async def of(self, workspace: str, channel: str) -> RoomWay:
        """What is set for a channel. Raises StoreError."""

    async def channels(self, workspace: str) -> tuple[tuple[str, bool], ...]:
        """The ids of the channels for which something is set, each with whether it is private. Raises StoreError."""

    async def end(self, workspace: str, channel: str) -> None:
        """The channel is archived or gone: nothing is set for it any more. Raises StoreError."""
