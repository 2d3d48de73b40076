"""Slack's status line, which shows what the soul is doing; it is always cleared, and its failures are only logged."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from daemon.channels.slack.client import SlackClient
from daemon.channels.slack.refusals import APP
from daemon.core.concurrency import alongside, time_limit
from daemon.core.errors import ChannelError, ChannelRefused
from daemon.core.last_line import LastLine
from daemon.core.ports.clock import Clock
from daemon.core.ports.speech import Task
from daemon.core.ports.telemetry import Emit
from daemon.core.sentences import HOUSE_WORDS, Words

_AFTER: Final = 0.12  # seconds; a faster reply costs no call
_PACE: Final = 0.7  # seconds between two texts of one line
_REFRESH: Final = 90.0  # seconds; Slack clears the line by itself after two minutes
_CLEARING: Final = 2.0  # seconds for one line, and at the end for all of them together
_REST: Final = 86_400.0  # seconds without a line after Slack refused it to the app
_LONGEST: Final = 90  # characters


def status_for(task: Task, words: Words = HOUSE_WORDS) -> str:
    """A task as a status that Slack shows after the soul's name: `is reading docs/limits.md…`."""
    title = task.title.rstrip(" .…")[:_LONGEST]
    first = title.partition(" ")[0]
    english = "working" not in words.own and first.isalpha() and first.endswith("ing")
    return f"is {title[0].lower()}{title[1:]}…" if english else words.say("working", title=title)


@dataclass(slots=True, eq=False)
class _Line:
    """One thread's line while it is shown; `nap` is the sleep before the next update, `over` once a message grows."""

    channel: str
    thread: str
    text: str
    sent: bool = False
    over: bool = False
    nap: asyncio.Task[None] | None = None


class StatusLine:
    """Sets and clears one status line for each thread (Slack: assistant.threads.setStatus)."""

    def __init__(self, client: SlackClient, clock: Clock, emit: Emit) -> None:
        self._client = client
        self._clock = clock
        self._emit = emit
        self._to_clear: asyncio.Queue[tuple[str, str]] | None = None
        self._lines: dict[tuple[str, str], _Line] = {}
        self._refused_until = 0.0

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
    async def shown(self, channel: str, thread: str, text: str) -> AsyncIterator[Callable[[str], None]]:
        """Show the line, at first with this text, while the body runs; exceptions of the body pass through.

        The callback changes its text. Without a thread there is no line.
        """
        if not thread:
            yield lambda _: None
            return
        line = self._lines[channel, thread] = _Line(channel, thread, text)
        try:
            async with alongside(LastLine(self._clock, self._emit).keep("status line", partial(self._keep, line))):
                yield partial(self.say, channel, thread)
        finally:
            if self._lines.get((channel, thread)) is line:
                del self._lines[channel, thread]
            if line.over:
                pass  # Slack removed the line when the message appeared
            elif line.sent and self._to_clear is not None:
                self._to_clear.put_nowait((channel, thread))
            elif line.sent:
                await self._clear((channel, thread))

    def say(self, channel: str, thread: str, text: str) -> None:
        """Change the text of a line that is shown, as soon as its pace allows; returns at once."""
        line = self._lines.get((channel, thread))
        if line is not None and not line.over and line.text != text:
            line.text = text
            if line.nap is not None:
                line.nap.cancel()

    def end(self, channel: str, thread: str) -> None:
        """Set a line no more, since a message grows in its thread: the line and a session's state share one place."""
        line = self._lines.get((channel, thread))
        if line is not None:
            line.over = True
            if line.nap is not None:
                line.nap.cancel()

    async def _keep(self, line: _Line) -> None:
        await self._clock.sleep(_AFTER)
        async with asyncio.TaskGroup() as group:
            while not line.over:
                line.sent = True
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
        if self._clock.monotonic() < self._refused_until:
            return
        try:
            await self._client.call("assistant.threads.setStatus", channel_id=channel, thread_ts=thread, status=text)
        except ChannelError as error:
            self._emit("slack.status_failed", channel=channel, reason=error.message)
            if isinstance(error, ChannelRefused) and error.code in APP:
                self._refused_until = self._clock.monotonic() + _REST
