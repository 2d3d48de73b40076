"""The menu of each message with the app's shortcut, as Bolt receives it, and addresses of messages in an answer."""

from typing import Any

import pytest
from playwright.async_api import expect

from daemon.core.phrases import WHY_SHORTCUT
from daemon.local_slack.client import WorkspaceClient
from daemon.local_slack.server import WorkspaceServer
from tests.page.conftest import OpenWindow
from tests.page.manual_app import ManualApp
from tests.page.window import ask_why

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_shortcut_in_the_menu_of_a_message_reaches_the_app_with_its_user_and_the_message(
    server: WorkspaceServer, people: WorkspaceClient, soul: ManualApp, new_window: OpenWindow
) -> None:
    ada = await new_window(server.page_url, "U0ADA")
    await ada.say("Is it late?")
    root = await soul.newest("dm")
    answer = await soul.api.chat_postMessage(channel=root["channel"], thread_ts=root["ts"], text="It is late.")
    await ask_why(ada.message("It is late."))

    async def reached() -> list[dict[str, Any]]:
        return soul.shortcuts

    [used] = await people.wait_for(reached)
    assert (used["callback_id"], used["user"]["id"]) == (WHY_SHORTCUT, "U0ADA")
    assert (used["channel"]["id"], used["message_ts"]) == ("D0ADA", answer["ts"])
    assert used["message"]["text"] == "It is late."
    await expect(ada.page.locator(".message.ephemeral")).to_contain_text("Because the lamps are lit.")
    await expect(ada.page.locator(".message.ephemeral")).to_contain_text("Only visible to you")


async def test_without_the_scope_there_is_no_shortcut(
    server: WorkspaceServer, people: WorkspaceClient, soul: ManualApp, new_window: OpenWindow
) -> None:
    await people.scopes("chat:write", "im:history")
    ada = await new_window(server.page_url, "U0ADA")
    await ada.say("Is it late?")
    await soul.newest("dm")
    await ada.message("Is it late?").hover()
    await expect(ada.message("Is it late?").get_by_role("button", name="Add a reaction")).to_be_visible()
    await expect(ada.page.get_by_role("button", name="More actions")).to_have_count(0)


async def test_the_address_of_a_message_opens_its_thread_in_this_page(
    server: WorkspaceServer, people: WorkspaceClient, soul: ManualApp, new_window: OpenWindow
) -> None:
    root = await people.say("Ben", "general", "The kiln cracks.")
    below = await people.say("Ben", "general", "Because of the glaze.", thread=root["ts"])
    found = await soul.api.chat_getPermalink(channel=below["channel"], message_ts=below["ts"])
    ada = await new_window(server.page_url, "U0ADA")
    await ada.say("Why?")
    asked = await soul.newest("dm")
    text = f"“glaze” ([message]({found['permalink']}))"
    shown: Any = {"text": "glaze", "blocks": [{"type": "markdown", "text": text}]}
    await soul.api.chat_postMessage(channel=asked["channel"], thread_ts=asked["ts"], **shown)
    await ada.page.get_by_role("link", name="message", exact=True).click()
    await expect(ada.thread.locator(".message")).to_contain_text(["The kiln cracks.", "Because of the glaze."])
    assert "as=U0ADA" in ada.page.url
