"""The line that says the soul is at work; never left standing, never worth an error."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from daemon.channels.slack.client import SlackClient
from daemon.concurrency import alongside
from daemon.errors import ChannelError
from daemon.ports import Clock, Emit

_WORDS: Final = "is thinking…"
_AFTER: Final = 0.12  # seconds; a reply that is faster costs no call
_REFRESH: Final = 90.0  # Slack lets it vanish after two minutes
_CLEARING: Final = 5.0


class StatusLine:
    """Shows and clears `assistant.threads.setStatus` in one thread."""

    def __init__(self, client: SlackClient, clock: Clock, emit: Emit) -> None:
        self._client = client
        self._clock = clock
        self._emit = emit
        self._to_clear: asyncio.Queue[tuple[str, str]] | None = None

    async def run(self) -> None:
        """Clear lines beside other work until cancelled, so that no reply waits for it; none is left standing."""
        waiting: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self._to_clear, line = waiting, None
        try:
            while True:
                line = await waiting.get()
                await self._clear(*line)
                line = None
        finally:
            self._to_clear = None
            if line is not None:
                await self._clear(*line)
            while not waiting.empty():
                await self._clear(*waiting.get_nowait())

    @asynccontextmanager
    async def shown(self, channel: str, thread: str) -> AsyncIterator[None]:
        """Show the line while the body runs; whatever the body raises comes out unchanged."""
        asked = asyncio.Event()
        try:
            async with alongside(self._keep(channel, thread, asked)):
                yield
        finally:
            if asked.is_set() and self._to_clear is not None:
                self._to_clear.put_nowait((channel, thread))
            elif asked.is_set():
                await self._clear(channel, thread)

    async def _keep(self, channel: str, thread: str, asked: asyncio.Event) -> None:
        await self._clock.sleep(_AFTER)
        asked.set()
        while True:
            await self._set(channel, thread, _WORDS)
            await self._clock.sleep(_REFRESH)

    async def _clear(self, channel: str, thread: str) -> None:
        try:
            async with asyncio.timeout(_CLEARING):
                await self._set(channel, thread, "")
        except TimeoutError:
            self._emit("slack.status_failed", channel=channel, reason="clearing took too long")

    async def _set(self, channel: str, thread: str, words: str) -> None:
        try:
            await self._client.call("assistant.threads.setStatus", channel_id=channel, thread_ts=thread, status=words)
        except ChannelError as error:
            self._emit("slack.status_failed", channel=channel, reason=error.message)
