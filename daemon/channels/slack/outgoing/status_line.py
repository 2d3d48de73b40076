"""Slack's status line, which shows what the soul is doing; it is always cleared, and its failures are only logged."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from daemon.channels.slack.api.client import SlackClient
from daemon.core.concurrency import alongside, time_limit
from daemon.core.errors import ChannelError
from daemon.core.ports import Clock, Emit, Task

_THINKING: Final = "is thinking…"
_AFTER: Final = 0.12  # seconds; a faster reply costs no call
_PACE: Final = 0.7  # seconds between two texts of one line
_REFRESH: Final = 90.0  # seconds; Slack clears the line by itself after two minutes
_CLEARING: Final = 2.0  # seconds for one line, and at the end for all of them together
_LONGEST: Final = 90  # characters


def status_for(task: Task) -> str:
    """A task as a status that Slack shows after the soul's name: `is reading docs/limits.md…`."""
    title = task.title.rstrip(" .…")[:_LONGEST]
    first = title.partition(" ")[0]
    return (
        f"is {title[0].lower()}{title[1:]}…" if first.isalpha() and first.endswith("ing") else f"is working: {title}…"
    )


@dataclass(slots=True, eq=False)
class _Line:
    """One thread's line while it is shown; `nap` is the sleep before the next update."""

    channel: str
    thread: str
    text: str = _THINKING
    sent: bool = False
    nap: asyncio.Task[None] | None = None


class StatusLine:
    """Sets and clears one status line for each thread (Slack: assistant.threads.setStatus)."""

    def __init__(self, client: SlackClient, clock: Clock, emit: Emit) -> None:
        self._client = client
        self._clock = clock
        self._emit = emit
        self._to_clear: asyncio.Queue[tuple[str, str]] | None = None
        self._lines: dict[tuple[str, str], _Line] = {}

    async def run(self) -> None:
        """Clear lines in the background until cancelled, so that no reply waits; at the end, clear the rest."""
        waiting: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self._to_clear, stopped = waiting, asyncio.CancelledError()
        async with asyncio.TaskGroup() as group:
            try:
                while True:
                    group.create_task(self._clear(await waiting.get()))
            except asyncio.CancelledError as cancelled:
                stopped = cancelled  # raised again when nothing is being cleared any more
            self._to_clear = None
            if rest := [waiting.get_nowait() for _ in range(waiting.qsize())]:
                group.create_task(self._clear(*rest))
        raise stopped

    @asynccontextmanager
    async def shown(self, channel: str, thread: str) -> AsyncIterator[None]:
        """Show the line while the body runs; exceptions of the body pass through."""
        line = self._lines[channel, thread] = _Line(channel, thread)
        try:
            async with alongside(self._keep(line)):
                yield
        finally:
            if self._lines.get((channel, thread)) is line:
                del self._lines[channel, thread]
            if line.sent and self._to_clear is not None:
                self._to_clear.put_nowait((channel, thread))
            elif line.sent:
                await self._clear((channel, thread))

    def say(self, channel: str, thread: str, text: str) -> None:
        """Change the text of a line that is shown, as soon as its pace allows; returns at once."""
        line = self._lines.get((channel, thread))
        if line is not None and line.text != text:
            line.text = text
            if line.nap is not None:
                line.nap.cancel()

    async def _keep(self, line: _Line) -> None:
        await self._clock.sleep(_AFTER)
        line.sent = True
        async with asyncio.TaskGroup() as group:
            while True:
                text, at = line.text, self._clock.monotonic()
                await self._set(line.channel, line.thread, text)
                if line.text == text:
                    line.nap = group.create_task(self._clock.sleep(_REFRESH))
                    await asyncio.wait((line.nap,))
                    line.nap = None
                if (early := at + _PACE - self._clock.monotonic()) > 0:
                    await self._clock.sleep(early)

    async def _clear(self, *lines: tuple[str, str]) -> None:
        try:
            async with time_limit(self._clock, _CLEARING), asyncio.TaskGroup() as group:
                for channel, thread in lines:
                    group.create_task(self._set(channel, thread, ""))
        except TimeoutError:
            self._emit("slack.status_failed", channel=lines[0][0], reason="clearing took too long", lines=len(lines))

    async def _set(self, channel: str, thread: str, text: str) -> None:
        try:
            await self._client.call("assistant.threads.setStatus", channel_id=channel, thread_ts=thread, status=text)
        except ChannelError as error:
            self._emit("slack.status_failed", channel=channel, reason=error.message)
