"""One browser for the whole run; a fresh workspace, a connected app and windows for each test."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext

from daemon.core.value import Value
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from tests.page.manual_app import ManualApp
from tests.page.window import MISSING, Window, chromium, launched
from tests.workspace_client import WorkspaceClient

OpenWindow = Callable[..., Awaitable[Window]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of the page run in the loop of the browser."""
    for item in items:
        if item.path.parent == Path(__file__).parent and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Browser]:
    if chromium() is None:
        pytest.skip(MISSING)
    profile: Path = tmp_path_factory.mktemp("browser")
    async with launched(profile) as running:
        yield running


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the proxies and tokens that HTTP and Slack clients read from the environment."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@asynccontextmanager
async def windows(browser: Browser) -> AsyncIterator[OpenWindow]:
    """Opens windows; in the end none of them may have recorded a fault."""
    opened: list[tuple[Window, BrowserContext]] = []

    async def open_one(url: str, person: str = "", conversation: str = "", **options: object) -> Window:
        context = await browser.new_context(**{"locale": "en-GB", "timezone_id": "UTC", **options})  # type: ignore[arg-type]  # checked by Playwright
        window = Window(await context.new_page()).watch()
        opened.append((window, context))
        return await window.open(url, person, conversation)

    yield open_one
    for _, context in opened:
        await context.close()
    assert [fault for window, _ in opened for fault in window.faults] == []


@pytest_asyncio.fixture(loop_scope="session")
async def new_window(browser: Browser) -> AsyncIterator[OpenWindow]:
    async with windows(browser) as opener:
        yield opener


class PageStage(Value):
    """A workspace, what its people do without the page, and a connected app whose replies the test writes."""

    server: WorkspaceServer
    people: WorkspaceClient
    soul: ManualApp
    new_window: OpenWindow

    async def window(self, person: str = "U0ADA", conversation: str = "", **options: object) -> Window:
        return await self.new_window(self.server.page_url, person, conversation, **options)


@pytest_asyncio.fixture(loop_scope="session")
async def on(browser: Browser) -> AsyncIterator[PageStage]:
    async with serve_workspace() as server, WorkspaceClient(server.page_url) as people:
        app = await ManualApp(server, people).connect()
        await people.wait_for_sockets(1)
        async with windows(browser) as opener:
            yield PageStage(server, people, app, opener)
        await app.close()
