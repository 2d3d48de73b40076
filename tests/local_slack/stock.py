"""The stock Slack stack as an app would use it, with a record of what reached its listeners."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from daemon.local_slack.server import WorkspaceServer
from tests.fakes import PATIENCE

Json = dict[str, Any]
Listener = Callable[..., Awaitable[Any]]


async def refusal(call: Awaitable[object]) -> str:
    """The error name with which Slack refuses a call."""
    try:
        await call
    except SlackApiError as error:
        return str(error.response["error"])
    return "accepted"


class StockApp:
    """An unmodified AsyncApp and its Socket Mode handler, pointed at a workspace by base URL alone."""

    def __init__(self, server: WorkspaceServer, *, ping_interval: float = 10) -> None:
        self.client = AsyncWebClient(token=server.bot_token, base_url=server.api_url)
        self.app = AsyncApp(client=self.client)
        self.handler = AsyncSocketModeHandler(self.app, app_token=server.app_token, ping_interval=ping_interval)
        self.heard: list[Json] = []
        self.bodies: list[Json] = []
        self.headers: list[Json] = []
        self._news = asyncio.Event()
        for kind in ("message", "app_mention", "reaction_added", "reaction_removed", "app_home_opened"):
            self.app.event(kind)(self._listen)
        self.app.event("member_joined_channel")(self._listen)

    async def _listen(self, event: Json, body: Json, req: AsyncBoltRequest) -> None:
        self.heard.append(event)
        self.bodies.append(body)
        self.headers.append(dict(req.headers))
        self._news.set()

    async def connect(self) -> "StockApp":
        await self.handler.connect_async()  # type: ignore[no-untyped-call]  # bolt leaves it untyped
        return self

    async def close(self) -> None:
        await self.handler.close_async()  # type: ignore[no-untyped-call]  # bolt leaves it untyped

    async def hears(self, wanted: Callable[[Json], bool], count: int = 1) -> list[Json]:
        """Wait until `count` events of a kind have reached the listeners."""
        async with asyncio.timeout(PATIENCE):
            while len(found := [event for event in self.heard if wanted(event)]) < count:
                self._news.clear()
                await self._news.wait()
        return found

    async def hears_text(self, text: str, count: int = 1) -> list[Json]:
        """Wait for messages with certain words."""
        return await self.hears(lambda event: text in str(event.get("text", "")), count)
