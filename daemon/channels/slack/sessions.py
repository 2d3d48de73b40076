"""Slack's agent sessions: a stream sets its thread's session to `processing`, each way out to `active` again.

A session has a title, too, which people may change at any time.
"""

from typing import Final

from daemon.channels.slack.client import Json, SlackClient
from daemon.channels.slack.refusals import APP
from daemon.core.errors import ChannelError, ChannelRefused
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit

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
    """Ends sessions together with their stream, or on their own where the stream can't be ended any more."""

    def __init__(self, client: SlackClient, clock: Clock, emit: Emit) -> None:
        self._client = client
        self._clock = clock
        self._emit = emit
        self._paused_until = 0.0

    async def stop_stream(self, channel: str, ts: str, **arguments: object) -> None:
        """Call chat.stopStream with the session's status; raises what `SlackClient.call` raises."""
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
        """Set a thread's session to `active`, since its stream ended without us; a failure is only logged."""
        if self._paused() or not thread:
            return
        try:
            await self._client.call("agents.sessions.setStatus", channel_id=channel, thread_ts=thread, status=_ACTIVE)
        except ChannelError as error:
            self._emit("slack.session_open", channel=channel, reason=error.message)
            if isinstance(error, ChannelRefused) and error.code in _STATUS_REFUSED:
                self._pause(error)

    async def name(self, channel: str, thread: str, title: str) -> None:
        """Give a thread's session its title; one that was never opened is made with it. Raises ChannelError."""
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
        return self._clock.monotonic() < self._paused_until

    def _pause(self, error: ChannelRefused) -> None:
        self._paused_until = self._clock.monotonic() + _PAUSE
        self._emit("slack.no_sessions", reason=error.code)
