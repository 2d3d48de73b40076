"""Work that is due once Slack has an acknowledgement, such as opening a dialog within three seconds."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from daemon.core.errors import ChannelError, StoreError
from daemon.core.ports.telemetry import Emit

Work = Callable[[], Awaitable[None]]

_MOST: Final = 100  # that wait at once; work beyond them is not done


class AfterAck:
    """Does work as it comes, each piece in a task of its own; what Slack or the store refuses is only logged."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._waiting: asyncio.Queue[Work] = asyncio.Queue(_MOST)

    def later(self, work: Work) -> None:
        """Have something done; returns at once."""
        try:
            self._waiting.put_nowait(work)
        except asyncio.QueueFull:
            self._emit("slack.interaction_left", reason="too many wait")

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                group.create_task(self._do(await self._waiting.get()))

    async def _do(self, work: Work) -> None:
        try:
            await work()
        except (ChannelError, StoreError) as error:
            self._emit("slack.interaction_left", reason=error.message)
