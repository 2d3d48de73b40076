"""The client of a workspace that runs in the same process: it asks the control API without HTTP between them."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from daemon.local_slack.control import Control
from daemon.local_slack.model import Json
from daemon.local_slack.orders import NotPossible
from daemon.local_slack.server import WorkspaceServer
from tests.workspace_client import WorkspaceClient, WorkspaceRefused


class NearClient(WorkspaceClient):
    """Acts as the users of a workspace; HTTP between test and workspace took a tenth of a journey."""

    def __init__(self, server: WorkspaceServer) -> None:
        super().__init__(server.page_url)
        self._feed = server.workspace.feed
        control = Control(server.workspace)
        self._orders = control.orders | control.views

    async def post(self, order: str, **fields: object) -> Json:
        return await self._answer(order, fields)

    async def get(self, view: str, **fields: str) -> Json:
        return await self._answer(view, dict(fields))

    async def _answer(self, name: str, fields: Json) -> Json:
        await asyncio.sleep(0)  # others go on, as during a request
        try:
            answer = self._orders[name](json.loads(json.dumps(fields)))
        except NotPossible as refused:
            raise WorkspaceRefused(refused.error, refused.hint) from None
        return dict(json.loads(json.dumps(answer)))  # a copy, which later changes leave as it is

    @asynccontextmanager
    async def _news(self) -> AsyncIterator[AsyncIterator[None]]:
        after = self._feed.cursor

        async def bursts() -> AsyncGenerator[None, None]:
            async with aclosing(self._feed.follow("", after)) as batches:  # type: ignore[type-var]  # it is a generator
                async for batch in batches:
                    if batch:
                        yield
            raise TimeoutError("the workspace stopped during the wait")

        async with aclosing(bursts()) as news:
            yield news
