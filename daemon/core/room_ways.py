"""The settings of the soul in one channel, made by those who manage the channel."""

from typing import Final, Protocol

from daemon.core.value import Value

LONGEST_INSTRUCTIONS: Final = 600
"""Characters of the instructions of one channel, at most."""

STREAMS: Final = ("", "on", "off")
"""The values of `streams`: show answers while they grow. Empty: as in the settings."""

JOINS: Final = ("", "mention")
"""The values of `joins`: `mention` for mentions alone; empty for mentions and the soul's own threads."""


class ChannelSettings(Value):
    """The settings of a channel, made by `person`. Empty fields mean the defaults.

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


class ManagedRoom(Value):
    """A channel of the soul, by id and name, for a person who may manage it."""

    id: str
    name: str


class ChannelSettingsStore(Protocol):
    """The settings of channels in memory.db, equal for all daemons on it."""

    async def of(self, workspace: str, channel: str) -> ChannelSettings:
        """Return the settings of a channel. Raises StoreError."""

    async def channels(self, workspace: str) -> tuple[tuple[str, bool], ...]:
        """Return the ids of channels with settings, each with whether it is private. Raises StoreError."""

    async def end(self, workspace: str, channel: str) -> None:
        """Delete the settings of an archived or lost channel. Raises StoreError."""
