"""The addresses of messages in Slack; each is asked for once in ten minutes, and never guessed."""

import re
from typing import Final

from daemon.channels.slack.cache import TimedCache
from daemon.channels.slack.client import SlackClient
from daemon.core.errors import ChannelError
from daemon.core.ports.clock import Clock

_MESSAGE: Final = re.compile(r"(?P<channel>[A-Z][A-Z0-9]{1,23})/(?P<ts>[0-9]{1,12}\.[0-9]{6})")


class Permalinks:
    """Asks Slack for the address of a message (chat.getPermalink, which allows hundreds of requests a minute)."""

    def __init__(self, client: SlackClient, clock: Clock) -> None:
        self._client = client
        self._known = TimedCache(self._fetch, clock)

    async def of(self, channel: str, ts: str) -> str:
        """The address of a message; empty where Slack knows none, or can't be asked now."""
        if _MESSAGE.fullmatch(f"{channel}/{ts}") is None:
            return ""
        try:
            return await self._known.get(f"{channel}/{ts}")
        except ChannelError:
            return ""

    async def _fetch(self, message: str) -> str:
        channel, _, ts = message.partition("/")
        answer = await self._client.call("chat.getPermalink", channel=channel, message_ts=ts)
        return str(answer.get("permalink") or "")
