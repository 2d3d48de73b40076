"""A connected app whose replies the test writes piece by piece, so that it can check the page after each piece."""

from collections.abc import Awaitable, Callable
from typing import Any

from slack_bolt.context.ack.async_ack import AsyncAck

from daemon.local_slack.server import WorkspaceServer
from tests.local_slack.stock import StockApp
from tests.workspace_client import WorkspaceClient

Json = dict[str, Any]
FEEDBACK: Json = {
    "type": "context_actions",
    "elements": [
        {
            "type": "feedback_buttons",
            "action_id": "feedback",
            "positive_button": {"text": {"type": "plain_text", "text": "Good answer"}, "value": "good"},
            "negative_button": {"text": {"type": "plain_text", "text": "Bad answer"}, "value": "bad"},
        }
    ],
}


def card(id_: str, title: str, status: str, **more: str) -> Json:
    """One task of a plan, as a streaming chunk."""
    return {"type": "task_update", "id": id_, "title": title, "status": status, **more}


class ManualApp:
    """The soul's side of the workspace: it records clicks, and posts only what the test posts."""

    def __init__(self, server: WorkspaceServer, people: WorkspaceClient) -> None:
        self._stock = StockApp(server)
        self._people = people
        self.api = self._stock.client
        self.clicks: list[tuple[str, str]] = []
        self.dialogs: list[Json] = []
        self.answers: list[Json] = []
        """How the next dialogs that are sent are acknowledged; without one they close."""
        self._stock.app.view("order")(self._sent)
        self._stock.app.action("feedback")(self._click)

    async def _click(self, ack: AsyncAck, body: Json) -> None:
        await ack()
        self.clicks.append((body["user"]["id"], body["actions"][0]["value"]))

    async def _sent(self, ack: AsyncAck, view: Json) -> None:
        self.dialogs.append(view)
        await ack(**(self.answers.pop(0) if self.answers else {}))

    def hear_commands(self, command: str, answer: Callable[..., Awaitable[None]]) -> None:
        """Have a slash command answered by a Bolt listener."""
        self._stock.app.command(command)(answer)

    async def connect(self) -> "ManualApp":
        await self._stock.connect()
        return self

    async def close(self) -> None:
        await self._stock.close()

    async def newest(self, channel: str, person: str = "U0ADA") -> Json:
        async def look() -> Json | None:
            found = await self._people.messages(channel, person=person)
            return found[-1] if found else None

        return await self._people.wait_for(look)

    async def show_status(self, root: Json, status: str = "is thinking…") -> None:
        where = {"channel_id": root["channel"], "thread_ts": root["ts"]}
        await self.api.api_call("assistant.threads.setStatus", json={**where, "status": status})

    async def start(self, root: Json, words: str) -> str:
        return await self._started(root, markdown_text=words)

    async def append(self, root: Json, ts: str, words: str) -> None:
        where = {"channel": root["channel"], "ts": ts}
        await self.api.api_call("chat.appendStream", json={**where, "markdown_text": words})

    async def plan(self, root: Json, title: str, *tasks: Json, **more: object) -> str:
        chunks = [{"type": "plan_update", "title": title}, *tasks]
        return await self._started(root, task_display_mode="plan", chunks=chunks, **more)

    async def _started(self, root: Json, **content: object) -> str:
        recipient = {"recipient_user_id": root["user"], "recipient_team_id": root["team"]}
        where = {"channel": root["channel"], "thread_ts": root["ts"], **recipient}
        return str((await self.api.api_call("chat.startStream", json={**where, **content}))["ts"])

    async def append_chunks(self, root: Json, ts: str, *chunks: Json) -> None:
        await self.api.api_call(
            "chat.appendStream", json={"channel": root["channel"], "ts": ts, "chunks": list(chunks)}
        )

    async def finish(self, root: Json, ts: str) -> None:
        await self.api.api_call("chat.stopStream", json={"channel": root["channel"], "ts": ts, "blocks": [FEEDBACK]})

    async def reply(self, root: Json, text: str) -> str:
        blocks = [{"type": "markdown", "text": text}]
        thread = root.get("thread_ts", root["ts"])
        answer = await self.api.chat_postMessage(channel=root["channel"], thread_ts=thread, text=text, blocks=blocks)
        return str(answer["ts"])
