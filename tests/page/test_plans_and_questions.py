"""Plans of tasks above a reply, names and icons of souls, and an agent session: title, stop button, prompts."""

from playwright.async_api import Locator, expect

from daemon.local_slack.model import Json
from tests.page.conftest import PageStage
from tests.page.manual_app import card
from tests.page.window import Window


def _at(window: Window, ts: str) -> Locator:
    return window.page.locator(f'.message[data-ts="{ts}"]').last


async def test_a_plan_shows_the_state_of_each_task_and_folds_when_the_reply_is_complete(on: PageStage) -> None:
    ada = await on.window()
    await ada.say("How long may an import be?")
    root = await on.soul.newest("dm")
    reading = card("1", "Reading docs/limits.md", "in_progress", details="lines 1 to 40")
    ts = await on.soul.plan(root, "Working on it", reading, card("2", "Asking the importer", "pending"))
    answer = _at(ada, ts)
    tasks = answer.get_by_role("list", name="Steps").get_by_role("listitem")
    await expect(tasks).to_have_count(2)
    await expect(tasks.first).to_contain_text("Reading docs/limits.md, In progress")
    await expect(tasks.first).to_contain_text("lines 1 to 40")
    await expect(tasks.last).to_contain_text("Asking the importer, Not started")
    await expect(answer.locator("summary")).to_contain_text("Working on it")
    await expect(answer.locator("summary")).to_contain_text("0 of 2")

    await on.soul.append_chunks(root, ts, card("1", "Reading docs/limits.md", "complete", details=" and 90"))
    await expect(tasks.first).to_contain_text("Reading docs/limits.md, Done")
    await expect(tasks.first).to_contain_text("lines 1 to 40 and 90")
    await on.soul.append_chunks(
        root, ts, card("2", "Asking the importer", "error"), {"type": "markdown_text", "text": "Up to **2 GB**."}
    )
    await expect(tasks.last).to_contain_text("Asking the importer, Failed")
    await expect(answer.locator("strong")).to_have_text("2 GB")
    await on.soul.finish(root, ts)
    await expect(answer.locator(".feedback")).to_be_visible()
    await expect(tasks).to_have_count(0)
    await answer.locator("summary").click()
    await expect(tasks).to_have_count(2)


async def test_a_card_shows_markup_as_plain_text_and_a_task_left_open_as_failed(on: PageStage) -> None:
    ada = await on.window()
    await ada.say("Go on.")
    root = await on.soul.newest("dm")
    hostile = "<img src=x onerror=alert(1)> **bold** [a](https://evil.example) <!channel>"
    ts = await on.soul.plan(root, hostile, card("1", hostile, "in_progress", details=hostile))
    await expect(_at(ada, ts).get_by_role("listitem")).to_contain_text(hostile)
    await expect(_at(ada, ts).locator(".plan :is(img, a, strong)")).to_have_count(0)
    await on.soul.finish(root, ts)
    await _at(ada, ts).locator("summary").click()
    await expect(_at(ada, ts).get_by_role("listitem")).to_contain_text(f"{hostile}, Failed")


async def test_each_soul_shows_its_own_name_and_icon(on: PageStage) -> None:
    asked = await on.people.say("Ada", "general", "@Soul who is there?")
    for username, icon in (("Tamarru", ":fire:"), ("Gordon", None), (None, None)):
        await on.soul.api.chat_postMessage(
            channel=asked["channel"], thread_ts=asked["ts"], text="It is I.", username=username, icon_emoji=icon
        )
    ada = await on.window("U0ADA", f"C0GENERAL/{asked['ts']}")
    await expect(ada.thread.locator(".author")).to_have_text(["Ada", "Tamarru", "Gordon", "Soul"])
    await expect(ada.thread.locator(".avatar.soul-other")).to_have_text(["🔥", "G"])


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
