"""The page with the keyboard alone, on a phone, as another user, in a long conversation, and without a connection."""

import asyncio
import contextlib
import random
import socket
from typing import Any

from playwright.async_api import expect

from daemon.local_slack.server import WorkspaceServer, serve_workspace
from tests.page.conftest import OpenWindow, PageStage
from tests.page.manual_app import FEEDBACK
from tests.workspace_client import WorkspaceClient

PHONE = {"width": 390, "height": 760}


async def test_messages_and_their_toolbars_are_reached_by_keyboard(on: PageStage) -> None:
    for words in ("first", "second", "third"):
        await on.people.say("ben", "general", words)
    ada = await on.window("U0ADA", "C0GENERAL")
    await expect(ada.composer).to_be_focused()
    await ada.page.keyboard.press("Shift+Tab")
    await expect(ada.message("third")).to_be_focused()
    await ada.page.keyboard.press("ArrowUp")
    await expect(ada.message("second")).to_be_focused()
    await ada.page.keyboard.press("Tab")
    await ada.page.keyboard.press("Enter")
    await expect(ada.message("second").get_by_role("button", name="+1, 1")).to_be_visible()


async def test_a_window_of_a_phones_width_shows_one_pane_at_a_time(on: PageStage) -> None:
    root = await on.people.say("ada", "general", "hello @Soul")
    await on.soul.reply(root, "| a | b |\n|---|---|\n| a very long cell | another very long cell that will not fit |")
    ada = await on.window(viewport=PHONE)
    await expect(ada.page.locator("#sidebar")).to_be_hidden()
    await ada.page.get_by_role("button", name="Conversations").click()
    await ada.go("general")
    await expect(ada.page.locator("#sidebar")).to_be_hidden()
    await ada.message("hello").get_by_role("button", name="1 reply").click()
    await expect(ada.thread.locator("table")).to_be_visible()
    assert await ada.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await ada.page.get_by_role("button", name="Close the thread").click()
    await expect(ada.message("hello")).to_be_visible()


async def test_a_window_switches_its_user_and_an_unknown_user_becomes_the_first(on: PageStage) -> None:
    ada = await on.window("U0UNKNOWN")
    await expect(ada.page).to_have_url(f"{on.server.url}/?as=U0ADA")
    await ada.page.get_by_role("button", name="Switch user").click()
    await ada.page.get_by_role("link", name="Ben Okri").click()
    await expect(ada.page.get_by_role("button", name="Ben Okri Switch user")).to_be_visible()
    await ada.say("it is me")
    await expect(ada.message("it is me").locator(".author")).to_have_text("Ben")


async def test_the_key_stays_in_its_tab_and_another_port_of_this_machine_gets_nothing(on: PageStage) -> None:
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<p>another program</p>")
        writer.close()

    ada = await on.window()
    await expect(ada.page).to_have_url(f"{on.server.url}/?as=U0ADA")
    await ada.page.reload()
    await expect(ada.composer).to_be_editable()
    assert await ada.page.context.cookies() == []
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as other:
        tab = await ada.page.context.new_page()
        await tab.goto(f"http://127.0.0.1:{other.sockets[0].getsockname()[1]}/")
        await expect(tab.get_by_text("another program")).to_be_visible()
        assert await tab.evaluate("sessionStorage.length") == 0
    assert not [one for one in asked if on.server.key in one]
    await tab.goto(f"{on.server.url}/?as=U0ADA")
    await expect(tab.get_by_text("This workspace is locked: open the address that was printed")).to_be_visible()
    await ada.page.get_by_role("button", name="Switch user").click()
    async with ada.page.context.expect_page() as coming:
        await ada.page.get_by_role("link", name="Ben in a new window").click()
    ben = await coming.value
    await expect(ben.locator("#composer")).to_be_editable()
    await expect(ben).to_have_url(f"{on.server.url}/?as=U0BEN")


async def test_the_newest_messages_are_shown_first_and_earlier_ones_on_request(on: PageStage) -> None:
    for number in range(310):
        await on.people.say("ben", "general", f"number {number:03}")
    ada = await on.window("U0ADA", "C0GENERAL")
    await expect(ada.message("number 309")).to_be_in_viewport()
    await expect(ada.message("number 000")).to_have_count(0)
    await ada.page.get_by_role("button", name="Show earlier messages").click()
    await expect(ada.message("number 000")).to_have_count(1)
    await ada.message("number 000").scroll_into_view_if_needed()
    await on.people.say("chloe", "general", "something new")
    await expect(ada.message("something new")).not_to_be_in_viewport()
    await ada.page.get_by_role("button", name="Latest messages").click()
    await expect(ada.message("something new")).to_be_in_viewport()


async def test_without_the_scope_there_is_no_shortcut(on: PageStage) -> None:
    await on.people.scopes("chat:write", "im:history")
    ada = await on.window()
    await ada.say("Is it late?")
    await on.soul.newest("dm")
    await ada.message("Is it late?").hover()
    await expect(ada.message("Is it late?").get_by_role("button", name="Add a reaction")).to_be_visible()
    await expect(ada.page.get_by_role("button", name="More actions")).to_have_count(0)


async def test_the_address_of_a_message_opens_its_thread_in_this_page(on: PageStage) -> None:
    root = await on.people.say("Ben", "general", "The kiln cracks.")
    below = await on.people.say("Ben", "general", "Because of the glaze.", thread=root["ts"])
    found = await on.soul.api.chat_getPermalink(channel=below["channel"], message_ts=below["ts"])
    ada = await on.window()
    await ada.say("Why?")
    asked = await on.soul.newest("dm")
    text = f"“glaze” ([message]({found['permalink']}))"
    shown: Any = {"text": "glaze", "blocks": [{"type": "markdown", "text": text}]}
    await on.soul.api.chat_postMessage(channel=asked["channel"], thread_ts=asked["ts"], **shown)
    await ada.page.get_by_role("link", name="message", exact=True).click()
    await expect(ada.thread.locator(".message")).to_contain_text(["The kiln cracks.", "Because of the glaze."])
    assert "as=U0ADA" in ada.page.url


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


async def test_without_the_workspace_sending_is_disabled_and_the_draft_stays(new_window: OpenWindow) -> None:
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
