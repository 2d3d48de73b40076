"""Slack's agent sessions, with their states and titles, and the acknowledgement marks on messages."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from daemon.channels.slack.api import Json, SlackClient
from daemon.channels.slack.refusals import APP
from daemon.core.concurrency import alongside, time_limit
from daemon.core.errors import ChannelError, ChannelRefused, StoreError
from daemon.core.perception import Perception
from daemon.core.ports import MarksKept
from daemon.core.value import Value

_ACTIVE: Final = "active"
_NO_SESSION: Final = "session_not_found"
_PAUSE: Final = 86_400.0  # seconds without a session's status after Slack refused it to the app
# Error codes for a session's status at the end of a stream, such as those of an app that is no agent.
_STATUS_REFUSED: Final = APP | {
    "agent_not_enabled",
    "invalid_arg_name",
    "invalid_arguments",
    "invalid_session_status",
    "invalid_status",
    "not_an_agent",
}


class Sessions:
    """The agent sessions. A stream sets its thread's session to `processing`, and its end sets it to `active`."""

    def __init__(self, client: SlackClient) -> None:
        self._client = client
        self._paused_until = 0.0

    async def stop_stream(self, channel: str, ts: str, **arguments: object) -> None:
        """Call chat.stopStream with the session's status. Raises what `SlackClient.call` raises."""
        place: Json = {"channel": channel, "ts": ts}
        if self._paused():
            await self._client.call("chat.stopStream", **place, **arguments)
            return
        try:
            await self._client.call("chat.stopStream", **place, session_status=_ACTIVE, **arguments)
        except ChannelRefused as error:
            if error.code not in _STATUS_REFUSED:
                raise
            await self._client.call("chat.stopStream", **place, **arguments)
            self._pause(error)

    async def end(self, channel: str, thread: str) -> None:
        """Set a thread's session to `active`, since its stream ended without us. A failure is only logged."""
        if self._paused() or not thread:
            return
        try:
            await self._client.call("agents.sessions.setStatus", channel_id=channel, thread_ts=thread, status=_ACTIVE)
        except ChannelError as error:
            self._client.emit("slack.session_open", channel=channel, reason=error.message)
            if isinstance(error, ChannelRefused) and error.code in _STATUS_REFUSED:
                self._pause(error)

    async def name(self, channel: str, thread: str, title: str) -> None:
        """Set the title of a thread's session, and create a session that was never opened. Raises ChannelError."""
        if self._paused():
            return
        place: Json = {"channel_id": channel, "thread_ts": thread}
        try:
            await self._client.call("agents.sessions.rename", **place, title=title)
        except ChannelRefused as error:
            if error.code in _STATUS_REFUSED:
                self._pause(error)
            if error.code != _NO_SESSION:
                raise
            await self._client.call("agents.sessions.setStatus", **place, status=_ACTIVE, title=title)

    def _paused(self) -> bool:
        return self._client.clock.monotonic() < self._paused_until

    def _pause(self, error: ChannelRefused) -> None:
        self._paused_until = self._client.clock.monotonic() + _PAUSE
        self._client.emit("slack.no_sessions", reason=error.code)


TAKEN: Final = "eyes"
ANSWERED: Final = "white_check_mark"

_ADD, _REMOVE = "reactions.add", "reactions.remove"
_MOST_WAITING: Final = 100  # marks; with more waiting a message receives none
_ENDING: Final = 2.0  # seconds for the waiting marks when the daemon stops
_LEFT_EVERY: Final = 600.0  # seconds between two searches for marks left by dead daemons
_REST: Final = 86_400.0  # seconds without a mark after Slack refused it to the app


class _Mark(Value):
    """A reaction to set at a message, or to remove. `message` is the id of its row."""

    method: str
    message: str
    channel: str
    ts: str
    name: str


class Acknowledgements:
    """The acknowledgement marks, set one after another: none is removed before it was set, and no reply waits for one.

    A failure is only logged, and after a refusal of the app marks pause for a day. Before 👀 is set, the message is
    stored in memory.db until the mark is removed. Marks of a daemon that died are settled at a start and every ten
    minutes, by the state of their message.
    """

    def __init__(self, client: SlackClient, *, wanted: bool) -> None:
        self._client, self._wanted = client, wanted
        self._waiting: asyncio.Queue[_Mark] = asyncio.Queue()
        self._refused_until = 0.0

    async def run(self, kept: MarksKept, workspace: str, account: str) -> None:
        """Set and remove marks until cancelled, then the waiting ones within two seconds."""
        try:
            async with alongside(self._look_for_left(kept, workspace, account)):
                while True:
                    await self._set(kept, await self._waiting.get())
        finally:
            try:
                async with time_limit(self._client.clock, _ENDING):
                    while not self._waiting.empty():
                        await self._set(kept, self._waiting.get_nowait())
            except TimeoutError:
                self._client.emit("slack.marks_left", count=self._waiting.qsize())

    @asynccontextmanager
    async def shown(self, perception: Perception) -> AsyncIterator[Callable[[], None]]:
        """Mark a message as taken while the body runs, and as answered if it ends without an exception.

        The yielded callback says that no answer will follow; the message is then not marked as answered.
        """
        left = asyncio.Event()
        if not self._wanted or not perception.has_message or self._waiting.qsize() > _MOST_WAITING:
            yield left.set
            return
        self._order(_ADD, perception, TAKEN)
        try:
            yield left.set
        except BaseException:
            self._order(_REMOVE, perception, TAKEN)
            raise
        if not left.is_set():
            self._order(_ADD, perception, ANSWERED)
        self._order(_REMOVE, perception, TAKEN)

    def _order(self, method: str, perception: Perception, name: str) -> None:
        self._waiting.put_nowait(_Mark(method, perception.id, perception.conversation.channel, perception.ts, name))

    async def _look_for_left(self, kept: MarksKept, workspace: str, account: str) -> None:
        """Queue marks that match the messages' states for messages of dead daemons. Raises StoreError."""
        while True:
            for left in await kept.left(workspace, account):
                at = (left.message, left.channel, left.ts)
                if left.answered and self._wanted:
                    self._waiting.put_nowait(_Mark(_ADD, *at, ANSWERED))
                self._waiting.put_nowait(_Mark(_REMOVE, *at, TAKEN))
            await self._client.clock.sleep(_LEFT_EVERY)

    async def _set(self, kept: MarksKept, mark: _Mark) -> None:
        if self._client.clock.monotonic() < self._refused_until:
            return
        try:
            if mark.method == _ADD and mark.name == TAKEN:
                await kept.begin(mark.message)
            if await self._sent(mark) and mark.method == _REMOVE:
                await kept.end(mark.message)
        except StoreError as error:
            self._client.emit("slack.mark_not_kept", reason=error.message)

    async def _sent(self, mark: _Mark) -> bool:
        """Return True if Slack took a mark, or will never take it."""
        try:
            await self._client.call(mark.method, channel=mark.channel, timestamp=mark.ts, name=mark.name)
        except ChannelRefused as error:
            if error.code in APP:
                self._refused_until = self._client.clock.monotonic() + _REST
            return error.code not in APP
        except ChannelError:
            return False
        return True
