"""A time that a message marks reads on each reader's own clock, and what is no time reads as it was written."""

import pytest
from playwright.async_api import expect

from tests.page.conftest import PageStage

pytestmark = pytest.mark.asyncio(loop_scope="session")

DUE = 1_837_161_000  # 2028-03-20 10:30:00 UTC
MARKED = f"_Due <!date^{DUE}^{{date_num}} {{time}}|2028-03-20 12:30 (Europe/Athens)>: tea_"


async def test_a_marked_time_reads_on_each_readers_own_clock(on: PageStage) -> None:
    await on.people.say("ada", "dm", "Remind me of the tea")
    root = await on.soul.newest("dm")
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": MARKED}}]
    await on.soul.api.chat_postMessage(channel=root["channel"], text=MARKED, blocks=blocks)
    for zone, shown in (("Europe/Athens", "2028-03-20 12:30"), ("Asia/Tokyo", "2028-03-20 19:30")):
        ada = await on.window(timezone_id=zone)
        body = ada.message("tea").last.locator(".body")
        await expect(body).to_have_text(f"Due {shown}: tea")
        await expect(body.locator("em time")).to_have_attribute("datetime", "2028-03-20T10:30:00.000Z")


async def test_what_is_no_time_or_no_format_reads_as_it_was_written(on: PageStage) -> None:
    await on.people.say("ada", "dm", "Hello")
    root = await on.soul.newest("dm")
    odd = (
        "date^soon^{time}",
        "date^99999999999999^{time}",
        f"date^{DUE}^{{constructor}}",
        f"date^{DUE}",
        f"date^{DUE}^at",
    )
    for number, mark in enumerate(odd):
        await on.soul.api.chat_postMessage(channel=root["channel"], text=f"<!{mark}|odd {number}>.")
    ada = await on.window()
    for number in range(len(odd)):
        await expect(ada.message(f"odd {number}").last.locator(".body")).to_have_text(f"odd {number}.")
    await expect(ada.timeline.locator(".body time")).to_have_count(0)
