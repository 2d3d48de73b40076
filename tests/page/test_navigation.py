"""The page with the keyboard alone, on a phone, as another user, and in a long conversation."""

import pytest
from playwright.async_api import expect

from daemon.local_slack.client import WorkspaceClient
from daemon.local_slack.server import WorkspaceServer
from tests.page.conftest import OpenWindow
from tests.page.manual_app import ManualApp

pytestmark = pytest.mark.asyncio(loop_scope="session")
PHONE = {"width": 390, "height": 760}


async def test_messages_and_their_toolbars_are_reached_by_keyboard(
    server: WorkspaceServer, people: WorkspaceClient, new_window: OpenWindow
) -> None:
    for words in ("first", "second", "third"):
        await people.say("ben", "general", words)
    ada = await new_window(server.page_url, "U0ADA", "C0GENERAL")
    await expect(ada.composer).to_be_focused()
    await ada.page.keyboard.press("Shift+Tab")
    await expect(ada.message("third")).to_be_focused()
    await ada.page.keyboard.press("ArrowUp")
    await expect(ada.message("second")).to_be_focused()
    await ada.page.keyboard.press("Tab")
    await ada.page.keyboard.press("Enter")
    await expect(ada.message("second").get_by_role("button", name="+1, 1")).to_be_visible()


async def test_a_window_of_a_phones_width_shows_one_pane_at_a_time(
    server: WorkspaceServer, people: WorkspaceClient, soul: ManualApp, new_window: OpenWindow
) -> None:
    root = await people.say("ada", "general", "hello @Soul")
    await soul.reply(root, "| a | b |\n|---|---|\n| a very long cell | another very long cell that will not fit |")
    ada = await new_window(server.page_url, "U0ADA", viewport=PHONE)
    await expect(ada.page.locator("#sidebar")).to_be_hidden()
    await ada.page.get_by_role("button", name="Conversations").click()
    await ada.go("general")
    await expect(ada.page.locator("#sidebar")).to_be_hidden()
    await ada.message("hello").get_by_role("button", name="1 reply").click()
    await expect(ada.thread.locator("table")).to_be_visible()
    assert await ada.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await ada.page.get_by_role("button", name="Close the thread").click()
    await expect(ada.message("hello")).to_be_visible()


async def test_a_window_switches_its_user_and_an_unknown_user_becomes_the_first(
    server: WorkspaceServer, new_window: OpenWindow
) -> None:
    ada = await new_window(server.page_url, "U0UNKNOWN")
    await expect(ada.page).to_have_url(f"{server.url}/?as=U0ADA")
    await ada.page.get_by_role("button", name="Switch user").click()
    await ada.page.get_by_role("link", name="Ben Okri").click()
    await expect(ada.page.get_by_role("button", name="Ben Okri Switch user")).to_be_visible()
    await ada.say("it is me")
    await expect(ada.message("it is me").locator(".author")).to_have_text("Ben")


async def test_the_newest_messages_are_shown_first_and_earlier_ones_on_request(
    server: WorkspaceServer, people: WorkspaceClient, new_window: OpenWindow
) -> None:
    for number in range(310):
        await people.say("ben", "general", f"number {number:03}")
    ada = await new_window(server.page_url, "U0ADA", "C0GENERAL")
    await expect(ada.message("number 309")).to_be_in_viewport()
    await expect(ada.message("number 000")).to_have_count(0)
    await ada.page.get_by_role("button", name="Show earlier messages").click()
    await expect(ada.message("number 000")).to_have_count(1)
    await ada.message("number 000").scroll_into_view_if_needed()
    await people.say("chloe", "general", "something new")
    await expect(ada.message("something new")).not_to_be_in_viewport()
    await ada.page.get_by_role("button", name="Latest messages").click()
    await expect(ada.message("something new")).to_be_in_viewport()


async def test_time_moved_forward_in_one_window_has_passed_in_all(
    server: WorkspaceServer, people: WorkspaceClient, new_window: OpenWindow
) -> None:
    await people.say("ben", "general", "see you next week")
    ada = await new_window(server.page_url, "U0ADA", "C0GENERAL")
    ben = await new_window(server.page_url, "U0BEN", "C0GENERAL")
    await expect(ben.timeline.locator(".day")).to_have_text(["Today"])
    await ada.move_the_clock("In a week")
    await ada.say("there you are")
    for window in (ada, ben):
        await expect(window.message("there you are")).to_be_visible()
        await expect(window.timeline.locator(".day").last).to_have_text("Today")
        await expect(window.timeline.locator(".day").first).not_to_have_text("Today")
