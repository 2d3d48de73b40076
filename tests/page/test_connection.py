"""The page without a connection: to the event stream, to the workspace, or of the soul."""

import contextlib
import random
import socket

from playwright.async_api import expect

from daemon.local_slack.client import WorkspaceClient
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from tests.page.conftest import OpenWindow, PageStage
from tests.page.manual_app import FEEDBACK


def cut_all_connections(server: WorkspaceServer) -> int:
    """Simulate a short network failure; gives the number of connections that were cut."""
    assert server._runner is not None
    assert server._runner.server is not None
    transports = [handler.transport for handler in server._runner.server.connections if handler.transport]
    for transport in transports:
        transport.abort()
    return len(transports)


def _free_port() -> int:
    """A free port that no other process gets by asking for any, so that a second server can bind it again."""
    for port in random.sample(range(20_000, 30_000), 100):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no free port")


async def test_a_broken_event_stream_resumes_without_losing_messages(on: PageStage) -> None:
    ada = await on.window("U0ADA", "C0GENERAL")
    ada.connection_may_break = True
    await on.people.say("ben", "general", "before")
    await expect(ada.message("before")).to_be_visible()
    assert cut_all_connections(on.server) > 0
    async with WorkspaceClient(on.server.page_url) as others:
        said = await others.say("ben", "general", "meanwhile")
        await expect(ada.message("meanwhile")).to_be_visible()
        await others.edit("ben", "general", said["ts"], "afterwards")
    await expect(ada.message("afterwards")).to_be_visible()
    await expect(ada.message("before")).to_have_count(1)


async def test_without_the_workspace_sending_is_disabled_and_the_draft_stays(
    new_window: OpenWindow,
) -> None:
    port = _free_port()
    async with serve_workspace(port=port, key="kept") as first:
        ada = await new_window(first.page_url, "U0ADA")
        ada.connection_may_break = True
        await ada.composer.fill("half written")
    await expect(ada.page.locator(".banner.lost")).to_contain_text("connection to the workspace is lost")
    await expect(ada.composer).not_to_be_editable()
    async with serve_workspace(port=port, key="kept") as second:
        await expect(ada.composer).to_be_editable()
        await expect(ada.page.locator(".banner.lost")).to_have_count(0)
        await expect(ada.composer).to_have_value("half written")
        await ada.composer.press("Enter")
        await expect(ada.message("half written")).to_be_visible()
        assert second.workspace.state.timeline("D0ADA").newest
        await ada.page.close()


async def test_a_banner_and_a_failed_click_show_that_the_soul_is_not_connected(on: PageStage) -> None:
    said = await on.people.say("ada", "dm", "hello")
    blocks = [{"type": "markdown", "text": "Hello!"}, FEEDBACK]
    await on.soul.api.chat_postMessage(channel="D0ADA", thread_ts=said["ts"], text="Hello!", blocks=blocks)
    ada = await on.window()
    await expect(ada.page.locator(".banner")).to_have_count(0)
    await on.soul.close()
    await expect(ada.page.locator(".banner.absent")).to_contain_text("Soul is not connected")
    good = ada.message("Hello!").get_by_role("button", name="Good answer")
    await good.click()
    await expect(ada.page.locator(".toast")).to_contain_text("Not delivered")
    await expect(good).to_have_attribute("aria-pressed", "false")


async def test_a_user_joins_a_channel_and_adds_the_soul(on: PageStage) -> None:
    await on.people.add_channel("garden", members=["ben"], app=False)
    ada = await on.window()
    await ada.go("garden")
    await ada.page.get_by_role("button", name="Join").click()
    await expect(ada.composer).to_be_editable()
    await ada.page.get_by_role("button", name="Add Soul").click()
    await expect(ada.page.get_by_role("button", name="Add Soul")).to_have_count(0)
    await expect(ada.timeline).to_contain_text("@Soul has joined the channel")
