"""Marks a message with a reaction while it is worked on, and with another once its answer stands (a setting)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.api.refusals import APP
from daemon.core.concurrency import time_limit
from daemon.core.errors import ChannelError, ChannelRefused
from daemon.core.perception import Perception
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit

TAKEN: Final = "eyes"
ANSWERED: Final = "white_check_mark"

_MOST_WAITING: Final = 100  # marks; beyond them a message gets none
_ENDING: Final = 2.0  # seconds for the marks that wait when the daemon stops
_REST: Final = 86_400.0  # seconds without a mark after Slack refused it to the app


@dataclass(frozen=True, slots=True)
class _Mark:
    """A reaction to set at a message, or to remove."""

    method: str
    channel: str
    ts: str
    name: str


class Acknowledgements:
    """Sets marks behind each other, so that none is removed before it was set; no reply waits for one.

    They are a courtesy: a failure is only logged, and what Slack refuses to the app rests for a day.
    """

    def __init__(self, client: SlackClient, clock: Clock, emit: Emit, *, wanted: bool) -> None:
        self._client, self._clock, self._emit, self._wanted = client, clock, emit, wanted
        self._waiting: asyncio.Queue[_Mark] = asyncio.Queue()
        self._refused_until = 0.0

    async def run(self) -> None:
        """Set and remove marks until cancelled; then what still waits, within two seconds."""
        try:
            while True:
                await self._set(await self._waiting.get())
        finally:
            try:
                async with time_limit(self._clock, _ENDING):
                    while not self._waiting.empty():
                        await self._set(self._waiting.get_nowait())
            except TimeoutError:
                self._emit("slack.marks_left", count=self._waiting.qsize())

    @asynccontextmanager
    async def shown(self, perception: Perception) -> AsyncIterator[None]:
        """Mark a message as taken up while the body runs, and as answered if it ends without an exception."""
        if not self._wanted or not perception.has_message or self._waiting.qsize() > _MOST_WAITING:
            yield
            return
        self._order("reactions.add", perception, TAKEN)
        try:
            yield
        except BaseException:
            self._order("reactions.remove", perception, TAKEN)
            raise
        self._order("reactions.add", perception, ANSWERED)
        self._order("reactions.remove", perception, TAKEN)

    def _order(self, method: str, perception: Perception, name: str) -> None:
        self._waiting.put_nowait(_Mark(method, perception.conversation.channel, perception.ts, name))

    async def _set(self, mark: _Mark) -> None:
        if self._clock.monotonic() < self._refused_until:
            return
        try:
            await self._client.call(mark.method, channel=mark.channel, timestamp=mark.ts, name=mark.name)
        except ChannelError as error:
            if isinstance(error, ChannelRefused) and error.code in APP:
                self._refused_until = self._clock.monotonic() + _REST
