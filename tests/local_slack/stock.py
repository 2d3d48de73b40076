"""An app on the unmodified Slack libraries, with a record of the events that reach its listeners."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from daemon.local_slack.server import WorkspaceServer
from tests.workspace_client import WorkspaceClient

Json = dict[str, Any]
HANG = 60
"""Seconds after which a wait counts as a hang."""


async def refusal(call: Awaitable[object]) -> str:
    """The error name of a refused call, `accepted` for one that is not refused."""
    try:
        await call
    except SlackApiError as error:
        return str(error.response["error"])
    return "accepted"


async def begun(api: AsyncWebClient, people: WorkspaceClient, room: str = "dm", **piece: Any) -> Json:  # noqa: ANN401  # Slack's
    """A stream that answers a message of Ada's: its channel, its ts, and its thread."""
    root = await people.say("Ada", room, "hello")
    recipient: dict[str, Any] = {} if room == "dm" else {"recipient_team_id": "T0LOCAL", "recipient_user_id": "U0ADA"}
    answer = await api.chat_startStream(channel=root["channel"], thread_ts=root["ts"], **recipient, **piece)
    return {"channel": root["channel"], "ts": answer["ts"], "thread": root["ts"]}


class StockApp:
    """An unmodified AsyncApp and its Socket Mode handler; only the base URL points to the workspace."""

    def __init__(self, server: WorkspaceServer, *, ping_interval: float = 10) -> None:
        self.client = AsyncWebClient(token=server.bot_token, base_url=server.api_url)
        self.app = AsyncApp(client=self.client)
        self.handler = AsyncSocketModeHandler(self.app, app_token=server.app_token, ping_interval=ping_interval)
        self.events: list[Json] = []
        self.bodies: list[Json] = []
        self.headers: list[Json] = []
        self._news = asyncio.Event()
        for kind in ("message", "app_mention", "member_joined_channel"):
            self.app.event(kind)(self._listen)

    async def _listen(self, event: Json, body: Json, req: AsyncBoltRequest) -> None:
        self.events.append(event)
        self.bodies.append(body)
        self.headers.append(dict(req.headers))
        self._news.set()

    async def connect(self) -> "StockApp":
        await self.handler.connect_async()  # type: ignore[no-untyped-call]  # bolt leaves it untyped
        return self

    async def close(self) -> None:
        await self.handler.close_async()  # type: ignore[no-untyped-call]  # bolt leaves it untyped

    async def received(self, wanted: Callable[[Json], bool], count: int = 1) -> list[Json]:
        """Wait until `count` wanted events have reached the listeners; gives them."""
        async with asyncio.timeout(HANG):
            while len(found := [event for event in self.events if wanted(event)]) < count:
                self._news.clear()
                await self._news.wait()
        return found

    async def received_text(self, text: str, count: int = 1) -> list[Json]:
        """Wait until `count` events with this text have reached the listeners; gives them."""
        return await self.received(lambda event: text in str(event.get("text", "")), count)
