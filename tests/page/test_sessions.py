"""An agent session on the page: its title, the stop button while it is at work, and the prompts of its person."""

import pytest
from playwright.async_api import Locator, expect

from daemon.local_slack.client import WorkspaceClient
from daemon.local_slack.model import Json
from daemon.local_slack.server import WorkspaceServer
from tests.page.conftest import OpenWindow
from tests.page.manual_app import ManualApp
from tests.page.window import Window

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def at_work(ada: Window, soul: ManualApp) -> tuple[Json, str, Locator]:
    """Ada's message whose answer grows; gives it, the answer's ts and the button that stops it."""
    await ada.say("Tell me at length.")
    root = await soul.newest("dm")
    ts = await soul.start(root, "First of all")
    button = ada.page.get_by_role("button", name="Stop Soul")
    await expect(button).to_be_visible()
    return root, ts, button


async def test_a_session_at_work_has_a_stop_button_that_tells_the_app_and_goes_with_the_work(
    server: WorkspaceServer, people: WorkspaceClient, soul: ManualApp, new_window: OpenWindow
) -> None:
    root, ts, button = await at_work(await new_window(server.page_url, "U0ADA"), soul)
    await button.click()

    async def stopped() -> list[Json]:
        return [one for one in await people.deliveries() if one["event_type"] == "agent_session_stopped"]

    assert await people.wait_for(stopped)
    await expect(button).to_be_visible()  # Slack leaves the state to the app
    await soul.finish(root, ts)
    await expect(button).to_have_count(0)


async def test_a_status_line_that_is_set_later_takes_the_place_of_the_button(
    server: WorkspaceServer, soul: ManualApp, new_window: OpenWindow
) -> None:
    root, ts, button = await at_work(await new_window(server.page_url, "U0ADA"), soul)
    await soul.show_status(root)
    await expect(button).to_have_count(0)
    await soul.show_status(root, "")
    await soul.finish(root, ts)


async def test_the_title_of_a_session_stands_above_its_thread_as_plain_text_and_changes_at_once(
    server: WorkspaceServer, people: WorkspaceClient, soul: ManualApp, new_window: OpenWindow
) -> None:
    ada = await new_window(server.page_url, "U0ADA")
    await ada.say("What is the limit?")
    root = await soul.newest("dm")
    place = {"channel_id": root["channel"], "thread_ts": root["ts"]}
    title = "<img src=x onerror=alert(1)> **Limits**"
    await soul.api.api_call("agents.sessions.setStatus", json={**place, "status": "active", "title": title})
    await ada.page.goto(f"{ada.page.url.split('#')[0]}#{root['channel']}/{root['ts']}")
    above = ada.page.locator(".session-title")
    await expect(above).to_have_text(title)
    await expect(above.locator("img, strong")).to_have_count(0)
    await people.rename_session("Ada", root["channel"], root["ts"], "Limits of the export")
    await expect(above).to_have_text("Limits of the export")


async def test_the_prompts_of_a_person_are_shown_to_them_alone(
    server: WorkspaceServer, soul: ManualApp, new_window: OpenWindow
) -> None:
    chloe, gus = await new_window(server.page_url, "U0CHLOE"), await new_window(server.page_url, "U0GUS")
    prompts = [{"title": "Next reminder: 2026-03-01 09:00", "message": "my reminders"}]
    await soul.api.assistant_threads_setSuggestedPrompts(channel_id="D0CHLOE", prompts=prompts)
    await expect(chloe.page.get_by_role("button", name="Next reminder: 2026-03-01 09:00")).to_be_visible()
    await expect(gus.page.locator(".prompt").first).not_to_have_text("Next reminder: 2026-03-01 09:00")
