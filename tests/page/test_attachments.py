"""Forwarded messages and alerts are shown as Slack shows them, and what stands in them stays text."""

import pytest
from playwright.async_api import expect

from tests.page.conftest import PageStage

pytestmark = pytest.mark.asyncio(loop_scope="session")
HOSTILE = "<img src=x onerror=alert(1)>"


async def test_a_forwarded_message_is_shown_with_its_author_and_origin(on: PageStage) -> None:
    said = await on.people.say("ben", "general", "the release *slips* to Friday")
    await on.people.post("forward", person="ada", source="general", ts=said["ts"], channel="dm", text="what now?")
    again = (await on.people.messages("dm", person="ada"))[-1]
    await on.people.post("forward", person="ada", source="dm", ts=again["ts"], channel="dm", text="and this?")
    ada = await on.window()
    carried = ada.timeline.locator(".body > .forwarded")
    await expect(carried).to_have_count(2)
    first, second = carried.first, carried.last
    await expect(first.locator(".attachment-author")).to_have_text("Ben")
    await expect(first.locator("strong")).to_have_text("slips")
    await expect(first.locator(".attachment-footer")).to_contain_text("Posted in #general")
    await expect(first.get_by_role("link", name="View message")).to_have_attribute("href", "#/C0GENERAL")
    await expect(second.locator(".forwarded .attachment-author")).to_have_text("Ben")
    await expect(second).to_contain_text("slips")


async def test_an_alert_is_shown_with_all_it_holds_and_stays_text(on: PageStage) -> None:
    field = {"title": HOSTILE, "value": "web-1"}
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "by *CI*"}}
    alert = {
        "color": "#d00000",
        "title": "Disk",
        "title_link": "javascript:alert(2)",
        "text": HOSTILE,
        "fields": [field],
    }
    carried = [alert | {"blocks": [section], "footer": HOSTILE}, {"color": "red;background:url(//x)", "text": "calm"}]
    await on.people.post("say", person="ada", channel="dm", text="look", attachments=carried)
    ada = await on.window()
    shown = ada.message("look").locator(".attachment")
    await expect(shown).to_have_count(2)
    await expect(shown.first).to_have_css("border-left-color", "rgb(208, 0, 0)")
    for words in ("Disk", HOSTILE, "web-1", "by CI"):
        await expect(shown.first).to_contain_text(words)
    assert await shown.locator("img, script, a[href^='javascript']").count() == 0
    assert await shown.last.get_attribute("style") is None
