"""The ephemeral messages and modals for one user, after Slack's acknowledgement and within its three seconds."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

from daemon.channels.slack.api import SlackClient
from daemon.core.errors import ChannelError, StoreError
from daemon.core.ports.services import Emit, GateDecision
from daemon.core.sentences import Words

Work = Callable[[], Awaitable[None]]

_MOST: Final = 1_000  # pieces of work at once; more are dropped


class PrivateAnswers:
    """The worker for interactions, with one task each. Refusals of Slack or the store are only logged.

    `words_for` gives the words for a user in a channel, by their ids. `standing_of` gives the gate's decision on
    whether a user may talk with the soul at all.
    """

    def __init__(
        self,
        client: SlackClient,
        emit: Emit,
        words_for: Callable[[str, str], Awaitable[Words]],
        standing_of: Callable[[str], Awaitable[GateDecision]],
    ) -> None:
        self._client = client
        self._emit = emit
        self.words_for, self.standing_of = words_for, standing_of
        self._waiting: asyncio.Queue[Work] = asyncio.Queue()
        self._at_work = set[asyncio.Task[None]]()

    def later(self, work: Work) -> None:
        """Queue the work. Returns at once."""
        if self._waiting.qsize() + len(self._at_work) < _MOST:
            self._waiting.put_nowait(work)
        else:
            self._emit("slack.interaction_left", reason="too many wait")

    def tell(self, sentence: str, body: Mapping[str, Any]) -> None:
        """Queue a sentence, by its key, for the user of an interactive payload or a command. Returns at once."""
        self.later(partial(self._respond, sentence, body))

    async def below_input(self, sentence: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the acknowledgement that shows a sentence below the first input of a submitted modal."""
        view = body.get("view")
        inputs = view.get("blocks") if isinstance(view, dict) else None
        ids = [one.get("block_id") for one in inputs or () if isinstance(one, dict) and one.get("type") == "input"]
        text = (await self.words_for("", _id_of(body, "user"))).say(sentence)
        return {"response_action": "errors", "errors": {str(ids[0]): text}} if ids else {}

    async def whisper(self, channel: str, person: str, text: str, **more: object) -> None:
        await self._client.call("chat.postEphemeral", channel=channel, user=person, text=text, **more)

    async def open(self, body: Mapping[str, Any], view: Mapping[str, Any]) -> None:
        await self._client.call("views.open", trigger_id=str(body.get("trigger_id") or ""), view=view)

    async def run(self) -> None:
        """Run the queued work until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                task = group.create_task(self._do(await self._waiting.get()))
                self._at_work.add(task)
                task.add_done_callback(self._at_work.discard)

    async def _do(self, work: Work) -> None:
        try:
            await work()
        except (ChannelError, StoreError) as error:
            self._emit("slack.interaction_left", reason=error.message)

    async def _respond(self, sentence: str, body: Mapping[str, Any]) -> None:
        text = (await self.words_for(_id_of(body, "channel"), _id_of(body, "user"))).say(sentence)
        where = body.get("container") or body.get("message")
        thread = where.get("thread_ts") if isinstance(where, dict) else None
        words = {"response_type": "ephemeral", "replace_original": False, "text": text}
        await self._client.respond(
            str(body.get("response_url") or ""), words | ({"thread_ts": str(thread)} if thread else {})
        )


def _id_of(body: Mapping[str, Any], of: str) -> str:
    named = body.get(of)
    return str((named.get("id") if isinstance(named, dict) else body.get(f"{of}_id")) or "")
