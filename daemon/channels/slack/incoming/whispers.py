"""Tells the author of a button press, and no other user, that it had no effect; after Slack has its acknowledgement."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from daemon.channels.slack.api.client import SlackClient
from daemon.core.errors import ChannelError
from daemon.core.ports import Emit

_MOST: Final = 100  # that wait at once; a press beyond them stays without a word
_VOID: Final = "I'm sorry, that had no effect: I asked another person, or this has already been decided or has expired."


class Whispers:
    """A queue in front of Slack's `response_url`, which reaches the user where the button is, in threads too."""

    def __init__(self, client: SlackClient, emit: Emit) -> None:
        self._client = client
        self._emit = emit
        self._waiting: asyncio.Queue[tuple[str, str]] = asyncio.Queue(_MOST)

    def tell_void(self, body: Mapping[str, Any]) -> None:
        """Queue the sentence for the user who pressed a button, as the block_actions payload `body` tells."""
        container = body.get("container")
        thread = container.get("thread_ts") if isinstance(container, dict) else None
        try:
            self._waiting.put_nowait((str(body.get("response_url") or ""), str(thread or "")))
        except asyncio.QueueFull:
            self._emit("slack.void_untold", reason="too many wait")

    async def run(self) -> None:
        """Send one after the other until cancelled."""
        while True:
            url, thread = await self._waiting.get()
            words = {"response_type": "ephemeral", "replace_original": False, "text": _VOID}
            try:
                await self._client.respond(url, words | ({"thread_ts": thread} if thread else {}))
            except ChannelError as error:
                self._emit("slack.void_untold", reason=error.message)
