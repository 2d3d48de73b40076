"""The channels of one daemon."""

import asyncio
from collections.abc import Mapping

from daemon.core.concurrency import alongside
from daemon.core.perception import ConversationKey
from daemon.core.ports import Intake
from daemon.core.ports.channel import Channel


class Channels:
    """The channels of a daemon: `main` is the platform's. A conversation names each `further` channel by its key."""

    def __init__(self, main: Channel, further: Mapping[str, Channel]) -> None:
        self.main = main
        self._further = further

    def of(self, conversation: ConversationKey) -> Channel:
        return self._further.get(conversation.channel, self.main)

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        """Listen on all channels. Set `ready` once each of them is ready."""
        all_ready = {channel: asyncio.Event() for channel in (*self._further.values(), self.main)}

        async def announce() -> None:
            for event in all_ready.values():
                await event.wait()
            ready.set()

        further = (channel.listen(intake, event) for channel, event in all_ready.items() if channel is not self.main)
        async with alongside(*further, announce()):
            await self.main.listen(intake, all_ready[self.main])
