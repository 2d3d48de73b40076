"""What a daemon says of itself to the other daemons on its memory.db, and what it makes of what they say."""

from collections.abc import Callable, Mapping

from daemon.memory.queues.presence import Presence
from daemon.shared.bells import Bells
from daemon.soul import Souls


class Hosting:
    """The souls that this daemon hosts, with their channels, and those that others host.

    `account` is whose messages its souls hear on the platform, empty where there is none: a soul of another account
    hears its own. `url` gives where the HTTP API listens, empty for nowhere.
    """

    def __init__(self, presence: Presence, souls: Souls, bells: Bells, account: str, url: Callable[[], str]) -> None:
        self._presence = presence
        self._souls = souls
        self._bells = bells
        self._account = account
        self._url = url
        self._said: Mapping[str, object] = {}

    async def say(self, state: str, more: Mapping[str, object]) -> None:
        """Write the heartbeat; the others are rung if it says anything new of what is hosted. Raises StoreError."""
        detail = self._detail()
        await self._presence.beat(state, {**more, **detail})
        if detail != self._said:
            self._said = detail
            self._bells.ring_for_work()

    async def heed(self) -> None:
        """Accept for the souls of other living daemons, too, in the channels that they name. Raises StoreError."""
        elsewhere: dict[str, str] = {}
        for other in await self._presence.others():
            if self._account and other.account == self._account:
                for soul, channels in other.souls.items():
                    elsewhere |= {channel: min(soul, elsewhere.get(channel, soul)) for channel in channels}
        self._souls.heed(elsewhere)

    async def has_neighbours(self) -> bool:
        """Whether another daemon on this memory.db runs on this machine. Raises StoreError."""
        return any(other.here for other in await self._presence.others())

    def _detail(self) -> dict[str, object]:
        hosted = {name: list(self._souls.current(name).channels) for name in self._souls.names}
        called = {name: self._souls.current(name).display_name for name in self._souls.names}
        found = {"souls": hosted, "called": called, "account": self._account, "http": self._url()}
        return {name: value for name, value in found.items() if value}
