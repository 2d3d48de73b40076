"""An agent session on the page: its title, the stop button while it is at work, and the prompts of its person."""

import pytest
from playwright.async_api import expect

from daemon.local_slack.model import Json
from tests.page.conftest import PageStage

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_session_at_work_has_a_stop_button_that_goes_with_the_work_or_for_a_status_line(on: PageStage) -> None:
    ada = await on.window()
    button = ada.page.get_by_role("button", name="Stop Soul")
    await ada.say("Tell me at length.")
    root = await on.soul.newest("dm")
    ts = await on.soul.start(root, "First of all")
    await button.click()

    async def stopped() -> list[Json]:
        return [one for one in await on.people.deliveries() if one["event_type"] == "agent_session_stopped"]

    assert await on.people.wait_for(stopped)
    await expect(button).to_be_visible()  # Slack leaves the state to the app
    await on.soul.finish(root, ts)
    await expect(button).to_have_count(0)
    ts = await on.soul.start(root, "Once more")
    await expect(button).to_be_visible()
    await on.soul.show_status(root)
    await expect(button).to_have_count(0)
    await on.soul.show_status(root, "")
    await on.soul.finish(root, ts)


async def test_the_title_of_a_session_stands_above_its_thread_as_plain_text_and_changes_at_once(on: PageStage) -> None:
    ada = await on.window()
    await ada.say("What is the limit?")
    root = await on.soul.newest("dm")
    place = {"channel_id": root["channel"], "thread_ts": root["ts"]}
    title = "<img src=x onerror=alert(1)> **Limits**"
    await on.soul.api.api_call("agents.sessions.setStatus", json={**place, "status": "active", "title": title})
    await ada.page.goto(f"{ada.page.url.split('#')[0]}#{root['channel']}/{root['ts']}")
    above = ada.page.locator(".session-title")
    await expect(above).to_have_text(title)
    await expect(above.locator("img, strong")).to_have_count(0)
    await on.people.rename_session("Ada", root["channel"], root["ts"], "Limits of the export")
    await expect(above).to_have_text("Limits of the export")


async def test_the_prompts_of_a_person_are_shown_to_them_alone(on: PageStage) -> None:
    chloe, gus = await on.window("U0CHLOE"), await on.window("U0GUS")
    prompts = [{"title": "Next reminder: 2026-03-01 09:00", "message": "my reminders"}]
    await on.soul.api.assistant_threads_setSuggestedPrompts(channel_id="D0CHLOE", prompts=prompts)
    await expect(chloe.page.get_by_role("button", name="Next reminder: 2026-03-01 09:00")).to_be_visible()
    await expect(gus.page.locator(".prompt").first).not_to_have_text("Next reminder: 2026-03-01 09:00")
