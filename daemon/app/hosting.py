"""What a daemon says of itself to the other daemons on its memory.db, and what it makes of what they say."""

from collections.abc import Callable, Mapping

from daemon.memory.queues.presence import Presence
from daemon.soul import Souls


class Hosting:
    """The souls that this daemon hosts, with their channels, and those that others host.

    `account` is whose messages its souls hear on the platform, empty where there is none: a soul of another account
    hears its own. `url` gives where the HTTP API listens, empty for nowhere.
    """

    def __init__(self, presence: Presence, souls: Souls, account: str, url: Callable[[], str]) -> None:
        self._presence = presence
        self._souls = souls
        self._account = account
        self._url = url

    async def say(self, state: str, more: Mapping[str, object]) -> None:
        """Write the heartbeat. Raises StoreError."""
        await self._presence.beat(state, {**more, **self._detail()})

    async def heed(self) -> None:
        """Accept for the souls of other living daemons, too, in the channels that they name. Raises StoreError."""
        elsewhere: dict[str, str] = {}
        for other in await self._presence.others():
            if self._account and other.account == self._account:
                for soul, channels in other.souls.items():
                    elsewhere |= {channel: min(soul, elsewhere.get(channel, soul)) for channel in channels}
        self._souls.heed(elsewhere)

    async def has_neighbours(self) -> bool:
        """Whether another daemon runs on this memory.db. Raises StoreError."""
        return bool(await self._presence.others())

    def _detail(self) -> dict[str, object]:
        hosted = {name: list(self._souls.current(name).channels) for name in self._souls.names}
        called = {name: self._souls.current(name).display_name for name in self._souls.names}
        found = {"souls": hosted, "called": called, "account": self._account, "http": self._url()}
        return {name: value for name, value in found.items() if value}
