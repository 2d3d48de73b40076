"""A running workspace, a client that acts as its users, and an unmodified Slack app connected to it."""

from collections.abc import AsyncIterator

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from daemon.local_slack.server import WorkspaceServer, serve_workspace
from tests.fakes import FakeClock
from tests.local_slack.stock import StockApp
from tests.near import NearClient
from tests.workspace_client import WorkspaceClient


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the proxies and tokens that the Slack client reads from the environment."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "SLACK_BOT_TOKEN", "SLACK_CLIENT_ID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def server() -> AsyncIterator[WorkspaceServer]:
    """A workspace whose time stands still until `people.advance`."""
    async with serve_workspace(clock=FakeClock()) as running:
        yield running


@pytest.fixture
async def people(server: WorkspaceServer) -> AsyncIterator[WorkspaceClient]:
    async with NearClient(server) as client:
        yield client


@pytest.fixture
def api(server: WorkspaceServer) -> AsyncWebClient:
    return AsyncWebClient(token=server.bot_token, base_url=server.api_url)


@pytest.fixture
async def stock(server: WorkspaceServer) -> AsyncIterator[StockApp]:
    app = await StockApp(server).connect()
    yield app
    await app.close()
