"""A reply becoming visible while it is made, through Slack's streaming methods; on any trouble it falls silent."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from daemon.channels.slack.client import SlackClient
from daemon.channels.slack.drafts import Drafts
from daemon.channels.slack.markup import InertStream
from daemon.errors import ChannelRefused, DaemonError, NotDelivered
from daemon.ports import Clock, DraftLog, Emit

_OPEN_AT: Final = 80  # characters
_OPEN_AFTER: Final = 0.12  # seconds since the first text
_APPEND_AT: Final = 500
_APPEND_AFTER: Final = 0.7  # seconds since the last flush
_MOST: Final = 8_000  # characters shown before the reply is finished
_TICK: Final = 0.04


@dataclass(frozen=True, slots=True)
class Where:
    """The thread a reply is streamed into, and for whom; the recipient is empty in DMs, where Slack wants none."""

    channel: str
    thread: str
    recipient_team: str = ""
    recipient: str = ""


class SlackSpeech:
    """Implements `Speech`: one worker of its own sends what has gathered, so that `say` never waits for Slack."""

    def __init__(  # noqa: PLR0917  # one of each part it joins
        self, client: SlackClient, where: Where, log: DraftLog, drafts: Drafts, clock: Clock, emit: Emit
    ) -> None:
        self._client = client
        self._where = where
        self._log = log
        self._drafts = drafts
        self._clock = clock
        self._emit = emit
        self._inert = InertStream()
        self._pending = ""
        self._shown = ""
        self._ended = False
        self._stack = AsyncExitStack()
        self._group: asyncio.TaskGroup | None = None
        self._nap: asyncio.Task[None] | None = None

    async def say(self, text: str) -> None:
        """Take more of the reply; returns at once."""
        if self._ended:
            return
        self._pending += self._inert.feed(text)
        if self._group is None and self._pending.strip():
            self._group = await self._stack.enter_async_context(asyncio.TaskGroup())
            self._group.create_task(self._work(self._group))

    async def settle(self) -> None:
        """Send nothing more and wait for a request under way; what is pending is left to the delivery."""
        self._ended = True
        if self._nap is not None:
            self._nap.cancel()
        await self._stack.aclose()

    async def _work(self, group: asyncio.TaskGroup) -> None:
        try:
            if ts := await self._open(group):
                await self._go_on(ts, group)
        except DaemonError as error:
            self._emit("slack.speech_silent", channel=self._where.channel, reason=error.message)
        finally:
            self._ended = True

    async def _open(self, group: asyncio.TaskGroup) -> str:
        """Open the stream once there is enough to show; empty when it isn't begun."""
        since = self._clock.monotonic()
        while len(self._pending) < _OPEN_AT and self._clock.monotonic() - since < _OPEN_AFTER:
            if self._ended:
                return ""
            await self._doze(group)
        if self._ended or not self._drafts.may_start():
            return ""
        await self._log.opening()
        text = self._take()
        try:
            answer = await self._client.call(
                "chat.startStream",
                channel=self._where.channel,
                thread_ts=self._where.thread,
                recipient_team_id=self._where.recipient_team or None,
                recipient_user_id=self._where.recipient or None,
                markdown_text=text,
            )
        except (NotDelivered, ChannelRefused) as error:
            if isinstance(error, ChannelRefused):
                self._drafts.refused()
            await self._log.refused()
            raise
        ts = str(answer.get("ts") or "")
        if ts:
            self._shown = text
            self._drafts.remember(self._where.channel, ts, text)
            await self._log.opened(ts)
        return ts

    async def _go_on(self, ts: str, group: asyncio.TaskGroup) -> None:
        """Append until settled or long enough."""
        flushed = self._clock.monotonic()
        while len(self._shown) < _MOST and not self._ended:
            if self._due(flushed) and self._drafts.may_append():
                flushed = self._clock.monotonic()
                await self._append(ts)
            else:
                await self._doze(group)

    async def _doze(self, group: asyncio.TaskGroup) -> None:
        """Wait a moment, or until settled."""
        self._nap = group.create_task(self._clock.sleep(_TICK))
        await asyncio.wait((self._nap,))

    def _due(self, flushed: float) -> bool:
        waited = self._clock.monotonic() - flushed
        return len(self._pending) >= _APPEND_AT or (bool(self._pending) and waited >= _APPEND_AFTER)

    async def _append(self, ts: str) -> None:
        text = self._take()
        try:
            await self._client.call("chat.appendStream", channel=self._where.channel, ts=ts, markdown_text=text)
        except (NotDelivered, ChannelRefused):
            raise  # surely not appended: what the draft shows is still known
        except DaemonError:
            self._drafts.forget(self._where.channel, ts)
            raise
        self._shown += text
        self._drafts.remember(self._where.channel, ts, self._shown)

    def _take(self) -> str:
        """What has gathered, as far as the draft may still grow."""
        room = _MOST - len(self._shown)
        text, self._pending = self._pending[:room], self._pending[room:]
        return text
