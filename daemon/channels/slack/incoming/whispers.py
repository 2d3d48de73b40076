"""Says to the author of a press, and to no other user, that it had no effect; after Slack has its acknowledgement."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from daemon.channels.slack.api.client import SlackClient
from daemon.core.errors import ChannelError
from daemon.core.ports.telemetry import Emit
from daemon.core.sentences import Words

_MOST: Final = 100  # that wait at once; a press beyond them stays without a word


@dataclass(frozen=True, slots=True)
class _Answer:
    """A sentence by its key, the response_url that it goes to, and the thread, empty for none."""

    sentence: str
    url: str
    thread: str


class Whispers:
    """A queue in front of Slack's `response_url`, which reaches the user where the message is, in threads too.

    `words_for` gives the words for a user in a channel, by their ids.
    """

    def __init__(self, client: SlackClient, emit: Emit, words_for: Callable[[str, str], Awaitable[Words]]) -> None:
        self._client = client
        self._emit = emit
        self._words_for = words_for
        self._waiting: asyncio.Queue[tuple[_Answer, str, str]] = asyncio.Queue(_MOST)

    def tell(self, sentence: str, body: Mapping[str, Any]) -> None:
        """Queue a sentence, by its key, for the user of an interactive payload or a command in `body`."""
        where = body.get("container") or body.get("message")
        thread = where.get("thread_ts") if isinstance(where, dict) else None
        try:
            answer = _Answer(sentence, str(body.get("response_url") or ""), str(thread or ""))
            self._waiting.put_nowait((answer, _id_of(body, "channel"), _id_of(body, "user")))
        except asyncio.QueueFull:
            self._emit("slack.void_untold", reason="too many wait")

    async def below_input(self, sentence: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The acknowledgement that shows a sentence below the first input of a dialog that was sent."""
        view = body.get("view")
        inputs = view.get("blocks") if isinstance(view, dict) else None
        ids = [one.get("block_id") for one in inputs or () if isinstance(one, dict) and one.get("type") == "input"]
        text = (await self._words_for("", _id_of(body, "user"))).say(sentence)
        return {"response_action": "errors", "errors": {str(ids[0]): text}} if ids else {}

    async def run(self) -> None:
        """Send one after the other until cancelled."""
        while True:
            answer, channel, user = await self._waiting.get()
            text = (await self._words_for(channel, user)).say(answer.sentence)
            words = {"response_type": "ephemeral", "replace_original": False, "text": text}
            try:
                await self._client.respond(answer.url, words | ({"thread_ts": answer.thread} if answer.thread else {}))
            except ChannelError as error:
                self._emit("slack.void_untold", reason=error.message)


def _id_of(body: Mapping[str, Any], of: str) -> str:
    named = body.get(of)
    return str((named.get("id") if isinstance(named, dict) else body.get(f"{of}_id")) or "")
