"""The line that says what the soul is at; never left standing, never worth an error."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from daemon.channels.slack.api.client import SlackClient
from daemon.core.concurrency import alongside
from daemon.core.errors import ChannelError
from daemon.core.ports import Clock, Emit, Task

_WORDS: Final = "is thinking…"
_AFTER: Final = 0.12  # seconds; a reply that is faster costs no call
_PACE: Final = 0.7  # seconds between two texts of one line
_REFRESH: Final = 90.0  # Slack lets it vanish after two minutes
_CLEARING: Final = 5.0
_LONGEST: Final = 90  # characters


def words_for(task: Task) -> str:
    """A task as the rest of a sentence that begins with the soul's name: `is reading docs/limits.md…`."""
    title = task.title.rstrip(" .…")[:_LONGEST]
    first = title.partition(" ")[0]
    return (
        f"is {title[0].lower()}{title[1:]}…" if first.isalpha() and first.endswith("ing") else f"is at work: {title}…"
    )


@dataclass(slots=True, eq=False)
class _Line:
    """One thread's line while it is shown; `nap` is what it waits on."""

    channel: str
    thread: str
    words: str = _WORDS
    asked: bool = False
    nap: asyncio.Task[None] | None = None


class StatusLine:
    """Shows and clears `assistant.threads.setStatus`, one line for each thread."""

    def __init__(self, client: SlackClient, clock: Clock, emit: Emit) -> None:
        self._client = client
        self._clock = clock
        self._emit = emit
        self._to_clear: asyncio.Queue[tuple[str, str]] | None = None
        self._lines: dict[tuple[str, str], _Line] = {}

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
        line = self._lines[channel, thread] = _Line(channel, thread)
        try:
            async with alongside(self._keep(line)):
                yield
        finally:
            if self._lines.get((channel, thread)) is line:
                del self._lines[channel, thread]
            if line.asked and self._to_clear is not None:
                self._to_clear.put_nowait((channel, thread))
            elif line.asked:
                await self._clear(channel, thread)

    def say(self, channel: str, thread: str, words: str) -> None:
        """Let a line that is being shown say something else, as soon as its pace allows; returns at once."""
        line = self._lines.get((channel, thread))
        if line is not None and line.words != words:
            line.words = words
            if line.nap is not None:
                line.nap.cancel()

    async def _keep(self, line: _Line) -> None:
        await self._clock.sleep(_AFTER)
        line.asked = True
        async with asyncio.TaskGroup() as group:
            while True:
                said, at = line.words, self._clock.monotonic()
                await self._set(line.channel, line.thread, said)
                if line.words == said:
                    line.nap = group.create_task(self._clock.sleep(_REFRESH))
                    await asyncio.wait((line.nap,))
                    line.nap = None
                if (early := at + _PACE - self._clock.monotonic()) > 0:
                    await self._clock.sleep(early)

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
